#include "heed/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/cpu_name.h"
#include "base/stop.h"
#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/models/registry.h"
#include "io/atomic_file.h"
#include "kernels/adamw.h"
#include "tensor/dtype_named.h"
#include "train/card.h"
#include "train/checkpoint.h"
#include "train/initial_weights.h"
#include "train/lm_passes.h"
#include "train/loss_csv.h"
#include "train/run_folder.h"
#include "train/samples.h"
#include "train/schedule.h"
#include "train/text_data.h"

namespace heed {
namespace {

double now_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

bool all_finite(const Tensor& tensor) {
  return std::isfinite(kernels::sum_of_squares(tensor.data<float>(), tensor.element_count()));
}

// One run from its start, or its last checkpoint, to its end.
class Training {
 public:
  Training(const TrainArgs& args, const RunFolder& folder, TrainListener& listener)
      : config_(args.config),
        stopped_(args.stopped),
        folder_(folder),
        listener_(listener),
        data_(load_text_data(config_)),
        model_(new_model(config_, data_.tokenizer->vocabulary_size(), data_.separator)),
        parameters_(model_->parameters()),
        optimizer_(parameters_, gradients_,
                   {.beta1 = config_.beta1,
                    .beta2 = config_.beta2,
                    .epsilon = config_.epsilon,
                    .weight_decay = config_.weight_decay}),
        passes_(config_, data_, *model_, parameters_, gradients_) {
    if (config_.sample_every > 0)
      samples_.emplace(folder.samples(), config_, *model_, *data_.tokenizer);
    state_.data_digest = data_.digest;
    state_.cpu = cpu_name();
    state_.threads = thread_count();
    state_.config = to_json(config_);
  }

  void go_on_from(const RunFolder::Found& found) {
    if (found.state.data_digest != state_.data_digest)
      fail({.op = "train",
            .argument = "data",
            .found = "not what the run to resume was started with (its tokens differ)"});
    tell_differences(found.state, state_, listener_);
    read_tensors(found.path, {parameters_, optimizer_});
    optimizer_.set_steps(found.state.step);
    saved_step_ = found.state.step;
    TrainState state = found.state;
    state.cpu = state_.cpu;
    state.threads = state_.threads;
    state.config = state_.config;
    state_ = std::move(state);
    listener_.note(fmt::format("goes on after step {} ({})", state_.step, found.path.string()));
  }

  TrainResult run() {
    LossCsv losses(folder_.losses(), state_.recorded ? state_.step : state_.step - 1);
    session_begin_ = now_seconds();
    earlier_seconds_ = state_.seconds;
    first_step_ = state_.step;
    if (samples_) samples_->forget_after(state_.step);
    while (!state_.recorded || state_.step < config_.steps)
      if (!go_on(losses)) stop(losses);
    return finish();
  }

 private:
  std::int64_t tokens_a_step() const { return config_.batch * config_.block * config_.accumulate; }

  // A step and its row. False where the run was asked to stop, which may leave either undone.
  bool go_on(LossCsv& losses) {
    try {
      if (state_.recorded) step();
      record(losses);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInterrupted) return false;
      throw;
    }
    return !listener_.stop();
  }

  // Work that changes nothing before its end: `stopped` leaves it where it stands.
  template <typename Work>
  auto leavable(const Work& work) const {
    std::optional<StopScope> scope;
    if (stopped_ != nullptr) scope.emplace(*stopped_);
    return work();
  }

  // Of the step that follows `steps` of them.
  double rate_after(std::int64_t steps) const {
    return learning_rate({.peak = config_.learning_rate,
                          .last = config_.final_learning_rate,
                          .warmup = config_.warmup,
                          .steps = config_.steps},
                         steps);
  }

  void step() {
    const double begin = now_seconds();
    const double loss = leavable([&] { return passes_.loss_and_gradients(state_.step); });
    norm_ = optimizer_.gradient_norm();
    if (!std::isfinite(loss)) fail_not_finite("the loss", loss);
    if (!std::isfinite(norm_)) fail_not_finite("the gradient's norm", norm_);
    const bool clips = config_.clip > 0 && norm_ > config_.clip;
    optimizer_.step(rate_after(state_.step), clips ? config_.clip / norm_ : 1);
    ++state_.step;
    state_.loss = loss;
    state_.recorded = false;
    step_seconds_ += now_seconds() - begin;
  }

  void record(LossCsv& losses) {
    const double rate = rate_after(state_.step - 1);
    std::optional<double> validation;
    if (state_.step % config_.evaluate_every == 0 || state_.step == config_.steps)
      validation = evaluate();
    state_.seconds = earlier_seconds_ + now_seconds() - session_begin_;
    losses.append({state_.step, state_.loss, validation, rate, state_.step * tokens_a_step(),
                   state_.seconds});
    state_.recorded = true;
    if (state_.step % config_.checkpoint_every == 0 || state_.step == config_.steps)
      save_checkpoint(losses);
    report(rate, validation);
    if (samples_ && state_.step % config_.sample_every == 0)
      listener_.note(leavable([&] { return samples_->add(state_.step); }));
  }

  std::optional<double> evaluate() {
    const std::optional<double> loss = leavable([&] { return passes_.evaluate(); });
    if (!loss) return loss;
    if (!std::isfinite(*loss)) fail_not_finite("the validation loss", *loss);
    state_.validation_loss = loss;
    if (!state_.best_loss || *loss < *state_.best_loss) {
      state_.best_loss = loss;
      state_.best_step = state_.step;
      save(folder_.model());
    }
    return loss;
  }

  void save(const std::filesystem::path& folder) const {
    save_model(folder, *model_, data_.tokenizer.get(), dtype_named(config_.dtype));
  }

  // The losses go to the disk first: a checkpoint never speaks of rows that are lost.
  void save_checkpoint(LossCsv& losses) {
    for (const Parameter* parameter : parameters_)
      if (!all_finite(parameter->value)) fail_not_finite("a weight", NAN);
    losses.flush();
    write_checkpoint(checkpoint_path(folder_.path(), state_.step), state_,
                     {parameters_, optimizer_});
    saved_step_ = state_.step;
    folder_.remove_old_checkpoints();
  }

  void report(double rate, const std::optional<double>& validation) {
    const auto done = static_cast<double>(std::max<std::int64_t>(state_.step - first_step_, 1));
    const double each = (now_seconds() - session_begin_) / done;
    listener_.stepped({.step = state_.step,
                       .steps = config_.steps,
                       .loss = state_.loss,
                       .learning_rate = rate,
                       .gradient_norm = norm_,
                       .tokens_per_second = tokens_per_second(),
                       .seconds_left = each * static_cast<double>(config_.steps - state_.step),
                       .validation_loss = validation,
                       .save_model = [this](const auto& folder) { save(folder); }});
  }

  double tokens_per_second() const {
    const auto tokens = static_cast<double>((state_.step - first_step_) * tokens_a_step());
    return step_seconds_ > 0 ? tokens / step_seconds_ : 0;
  }

  std::string last_checkpoint() const {
    return saved_step_ < 0 ? "none" : checkpoint_path(folder_.path(), saved_step_).string();
  }

  [[noreturn]] void fail_not_finite(std::string_view what, double value) const {
    std::string tensor = "no tensor";
    for (const Parameter* parameter : parameters_) {
      const Tensor* gradient = gradients_.find(*parameter);
      const bool bad_value = !all_finite(parameter->value);
      if (!bad_value && all_finite(*gradient)) continue;
      tensor = fmt::format("{}{}", bad_value ? "" : "the gradient of ", parameter->name);
      break;
    }
    fail({.code = ErrorCode::kFailed,
          .op = "train",
          .argument = what,
          .found = fmt::format("{} at step {}: {} is not finite",
                               std::isnan(value) ? "nan" : "infinite", state_.step + 1, tensor),
          .hint = "last good checkpoint: " + last_checkpoint()});
  }

  [[noreturn]] void stop(LossCsv& losses) {
    if (saved_step_ != state_.step) save_checkpoint(losses);
    fail({.code = ErrorCode::kInterrupted,
          .op = "train",
          .found = fmt::format("stopped after step {}", state_.step),
          .hint = last_checkpoint() + " is kept (resume goes on)"});
  }

  TrainResult finish() {
    if (!state_.best_loss) save(folder_.model());
    TrainResult result{.steps = state_.step,
                       .tokens = state_.step * tokens_a_step(),
                       .loss = state_.loss,
                       .validation_loss = state_.validation_loss,
                       .best_loss = state_.best_loss,
                       .best_step = state_.best_step,
                       .seconds = state_.seconds,
                       .tokens_per_second = tokens_per_second(),
                       .model = folder_.model()};
    write_file(folder_.model() / "card.md", to_markdown({config_, data_, *model_, result}));
    return result;
  }

  const TrainConfig& config_;
  const std::atomic<bool>* stopped_;
  const RunFolder& folder_;
  TrainListener& listener_;
  TextData data_;
  std::unique_ptr<Model> model_;
  std::vector<Parameter*> parameters_;
  Gradients gradients_;
  AdamW optimizer_;
  LmPasses passes_;
  std::optional<Samples> samples_;
  TrainState state_;
  std::int64_t saved_step_ = -1;  // of the last checkpoint, -1: none
  std::int64_t first_step_ = 0;   // of this session
  double norm_ = 0;               // of the last gradient
  double session_begin_ = 0;
  double earlier_seconds_ = 0;  // of the sessions before this one
  double step_seconds_ = 0;     // of this session, evaluations and checkpoints apart
};

}  // namespace

TrainResult train(const TrainArgs& args, TrainListener& listener) {
  check(args.config);
  const RunFolder folder(args.folder, args.resume);
  const auto found = folder.last_checkpoint(listener);
  if (found) {
    check_same_run(parse_train_config(found->state.config, found->path.string()), args.config);
  } else if (std::filesystem::exists(folder.config())) {
    check_same_run(stored_train_config(folder.path()), args.config);
    listener.note(
        "no checkpoint was written yet: starts from the beginning (another configuration "
        "needs another folder, or this one removed)");
  }
  if (args.config.warmup >= args.config.steps)
    listener.note(
        fmt::format("the learning rate only rises: warmup is {}, expected below steps, {}",
                    args.config.warmup, args.config.steps));
  Training training(args, folder, listener);
  write_file(folder.config(), to_json(args.config));
  if (found) training.go_on_from(*found);
  return training.run();
}

}  // namespace heed
