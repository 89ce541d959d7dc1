// Training, with a callback to Python after each step.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/wording.h"
#include "bind.h"
#include "computing.h"
#include "heed/error.h"
#include "heed/train.h"

namespace heed::python {
namespace nb = nanobind;
namespace {

nb::dict as_dict(const TrainProgress& progress) {
  nb::dict dict;
  dict["step"] = progress.step;
  dict["steps"] = progress.steps;
  dict["loss"] = progress.loss;
  dict["learning_rate"] = progress.learning_rate;
  dict["gradient_norm"] = progress.gradient_norm;
  dict["tokens_per_second"] = progress.tokens_per_second;
  dict["seconds_left"] = progress.seconds_left;
  dict["validation_loss"] = progress.validation_loss;
  return dict;
}

// The model after one step. Python may keep the function longer than the step.
class StepModel {
 public:
  explicit StepModel(const TrainProgress& progress)
      : progress_(std::make_shared<const TrainProgress*>(&progress)) {}
  ~StepModel() { *progress_ = nullptr; }
  StepModel(const StepModel&) = delete;
  StepModel& operator=(const StepModel&) = delete;

  nb::object saver() const {
    return nb::cpp_function([progress = progress_](const std::string& folder) {
      if (*progress == nullptr)
        fail({.op = "train",
              .argument = "model",
              .found = "a step that is over",
              .expected = "a call inside of on_step"});
      (*progress)->save_model(folder);
    });
  }

 private:
  std::shared_ptr<const TrainProgress*> progress_;
};

TokenRows rows_of(const nb::object& arrays) {
  using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  TokenRows rows;
  for (const nb::handle array : arrays) {
    const auto ids = nb::cast<Ids>(array);
    rows.emplace_back(ids.data(), ids.data() + ids.size());
  }
  return rows;
}

// Calls Python with the GIL. Its exceptions, and Ctrl-C, end the run.
class Caller final : public TrainListener {
 public:
  Caller(nb::object on_step, nb::object on_note)
      : on_step_(std::move(on_step)), on_note_(std::move(on_note)) {}

  void stepped(const TrainProgress& progress) override {
    call([&] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      const StepModel model(progress);
      nb::dict said = as_dict(progress);
      said["save"] = model.saver();
      return on_step_(said);
    });
  }
  void note(std::string_view text) override {
    call([&] { return on_note_(nb::str(text.data(), text.size())); });
  }
  bool stop() override { return stop_ || interpreter_ends(); }
  /// What `batches` raises ends the run, with a checkpoint.
  TokenRows next(const nb::object& batches) {
    TokenRows rows;
    call([&] {
      rows = rows_of(batches());
      return nb::none();
    });
    if (stop_) fail({.code = ErrorCode::kInterrupted, .op = "train", .found = "ended by batches"});
    return rows;
  }

  /// With the GIL: rethrows what ended the run.
  void rethrow() {
    if (raised_) throw nb::python_error(*std::exchange(raised_, std::nullopt));
  }
  bool was_asked() const { return stop_; }

 private:
  template <typename Work>
  void call(const Work& work) {
    const nb::gil_scoped_acquire held;
    if (stop_) return;
    try {
      const nb::object answer = work();
      if (answer.is(nb::handle(Py_False))) stop_ = true;
    } catch (nb::python_error& error) {
      stop_ = true;
      raised_.emplace(std::move(error));
    }
  }

  nb::object on_step_, on_note_;
  std::optional<nb::python_error> raised_;
  bool stop_ = false;
};

nb::object as_dict(const TrainResult& result) {
  nb::dict dict;
  dict["steps"] = result.steps;
  dict["tokens"] = result.tokens;
  dict["loss"] = result.loss;
  dict["validation_loss"] = result.validation_loss;
  dict["best_loss"] = result.best_loss;
  dict["best_step"] = result.best_step;
  dict["seconds"] = result.seconds;
  dict["tokens_per_second"] = result.tokens_per_second;
  return dict;
}

// Keywords and a dict have no lines, so errors omit the place.
TrainConfig parsed(const std::string& config, const std::string& origin) {
  if (!origin.empty()) return parse_train_config(config, origin);
  return reworded([&] { return parse_train_config(config, "config"); },
                  [](ErrorParts& parts) {
                    parts.op = "train";
                    parts.file = parts.place = {};
                    if (parts.found.text() == R"(unknown key "threads")")
                      parts.hint = "heed.set_thread_count sets how many threads compute";
                  });
}

// Returns None if `on_step` ended the run by returning False.
nb::object run(const std::string& config, const std::string& origin, const std::string& folder,
               bool resume, const nb::object& on_step, const nb::object& on_note,
               const nb::object& batches, const nb::object& validation) {
  TrainArgs args = {.config = parsed(config, origin), .folder = folder, .resume = resume};
  Caller caller(on_step, on_note);
  TokenBatches given = {.next = [&] { return caller.next(batches); }, .validation = {}};
  for (const nb::handle batch : validation) given.validation.push_back(rows_of(nb::borrow(batch)));
  if (!batches.is_none()) args.batches = &given;
  try {
    return as_dict(computing([&] { return train(args, caller); }));
  } catch (const Error& error) {
    caller.rethrow();
    if (error.code() != ErrorCode::kInterrupted || !caller.was_asked()) throw;
    return nb::none();
  }
}

nb::list keys() {
  nb::list list;
  for (const TrainKey& key : train_keys())
    list.append(nb::make_tuple(std::string(key.name), std::string(key.summary)));
  return list;
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", &run, nb::arg("config"), nb::arg("origin"), nb::arg("folder"),
             nb::arg("resume"), nb::arg("on_step"), nb::arg("on_note"), nb::arg("batches").none(),
             nb::arg("validation"));
  module.def("train_keys", &keys);
  module.def(
      "stored_config",
      [](const std::string& folder) { return to_json(stored_train_config(folder)); },
      nb::arg("folder"));
}

}  // namespace heed::python
