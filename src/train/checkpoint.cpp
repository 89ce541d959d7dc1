#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/digest.h"
#include "base/formats/members.h"
#include "base/wording.h"
#include "heed/error.h"
#include "io/tensor_files.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr char kStateKey[] = "heed_train_state";
constexpr char kDigestKey[] = "heed_train_digest";  // over all tensors: disks and copies can fail

// The step in a checkpoint's name; -1 for any other file.
std::int64_t step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  std::int64_t step = -1;
  const auto [stopped, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stopped == end ? step : -1;
}

// Reads the members of a state one by one; a member of the wrong kind is an error.
class StateReader {
  // The value of an optional or pointer.
  auto checked(const auto& value, const char* key, const char* expected) const {
    if (!value) json_.refuse(member(key), key, expected);
    return *value;
  }

 public:
  StateReader(const std::string& text, const std::string& origin)
      : json_(JsonText::parse(text, {.file = origin})) {}

  std::int64_t count(const char* key, std::int64_t otherwise) const {
    return member(key).is_null() ? otherwise : count(key);
  }
  std::int64_t count(const char* key) const {
    return checked(member(key).as_integer(), key, "a whole number");
  }
  std::uint64_t digest(const char* key) const {
    return checked(member(key).as_unsigned(), key, "a whole number");
  }
  double number(const char* key) const { return checked(member(key).as_number(), key, "a number"); }
  std::optional<double> optional_number(const char* key) const {
    return member(key).is_null() ? std::nullopt : std::optional(number(key));
  }
  bool flag(const char* key, bool otherwise) const {
    return member(key).is_null() ? otherwise : checked(member(key).as_flag(), key, "true or false");
  }
  std::string text(const char* key) const { return checked(member(key).as_text(), key, "a text"); }

 private:
  const Json& member(const char* key) const { return json_.root()[key]; }

  JsonText json_;
};

// Calls `visit(name, tensor)` for the three tensors of each parameter.
void for_each_tensor(const Trained& trained, const auto& visit) {
  for (std::size_t i = 0; i < trained.parameters.size(); ++i) {
    Parameter& parameter = *trained.parameters[i];
    AdamW::Moments& moments = trained.optimizer.moments()[i];
    visit("value." + parameter.name, parameter.value);
    visit("first." + parameter.name, moments.first);
    visit("second." + parameter.name, moments.second);
  }
}

std::string digest_of(std::vector<NamedView> tensors) {
  std::ranges::sort(tensors, {}, &NamedView::name);
  Digest digest;
  for (const NamedView& tensor : tensors) digest.add(bytes_of(tensor.view));
  return std::to_string(digest.value());
}

// A file without a digest is from an earlier version.
void check_digest(const Safetensors& file) {
  const auto written = file.metadata().find(kDigestKey);
  if (written == file.metadata().end()) return;
  std::vector<NamedView> tensors;
  for (const std::string& name : file.names()) tensors.push_back({name, file.tensor(name)});
  if (digest_of(std::move(tensors)) != written->second)
    fail({.code = ErrorCode::kCorrupt,
          .file = file.path().string(),
          .found = "damaged: its tensors are not those that were written"});
}

}  // namespace

std::string to_json(const TrainState& state) {
  JsonFields fields;
  HEED_FIELDS(fields, state.step, state.loss, state.validation_loss, state.best_loss,
              state.best_accuracy, state.best_step, state.stale, state.seconds, state.data_digest,
              state.cpu, state.threads, state.ranks, state.config, state.recorded);
  return fields.json.dump();
}

TrainState parse_state(const std::string& text, const std::string& origin) {
  const StateReader state(text, origin);
  return {.step = state.count("step"),
          .loss = state.number("loss"),
          .validation_loss = state.optional_number("validation_loss"),
          .best_loss = state.optional_number("best_loss"),
          .best_accuracy = state.optional_number("best_accuracy"),
          .best_step = state.count("best_step"),
          .stale = state.count("stale", 0),
          .seconds = state.number("seconds"),
          .data_digest = state.digest("data_digest"),
          .cpu = state.text("cpu"),
          .threads = static_cast<int>(state.count("threads")),
          .ranks = static_cast<int>(state.count("ranks", 1)),
          .config = state.text("config"),
          .recorded = state.flag("recorded", true)};
}

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t step) {
  return folder / fmt::format("{}{}{}", kPrefix, step, kSuffix);
}

std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (step_of(entry.path().filename()) >= 0) paths.push_back(entry.path());
  std::ranges::sort(paths, std::ranges::greater(),
                    [](const auto& path) { return step_of(path.filename()); });
  return paths;
}

void write_checkpoint(const std::filesystem::path& path, const TrainState& state,
                      const Trained& trained) {
  std::vector<NamedView> tensors;
  for_each_tensor(trained, [&](const std::string& name, const Tensor& tensor) {
    tensors.push_back({name, tensor.view()});
  });
  write_safetensors(path, tensors, {{kStateKey, to_json(state)}, {kDigestKey, digest_of(tensors)}});
}

TrainState read_state(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::open(path);
  const auto found = file.metadata().find(kStateKey);
  if (found == file.metadata().end())
    fail({.code = ErrorCode::kCorrupt,
          .file = path.string(),
          .found = "no state of a training run",
          .expected = "a checkpoint"});
  check_digest(file);
  return parse_state(found->second, fmt::format("{}: {}", path.string(), kStateKey));
}

void read_tensors(const std::filesystem::path& path, const Trained& trained) {
  const Safetensors file = Safetensors::open(path);
  for_each_tensor(trained, [&](const std::string& name, Tensor& tensor) {
    const auto refuse = [&](Phrase found) {
      fail_in(path.string(), name, std::move(found),
              fmt::format("f32 {}", to_string(tensor.shape())));
    };
    if (!file.contains(name)) refuse("");
    const ConstView stored = file.tensor(name);
    if (stored.dtype() != DType::kF32 || !(stored.shape() == tensor.shape()))
      refuse(fmt::format("{} {}", heed::name(stored.dtype()), to_string(stored.shape())));
    std::memcpy(tensor.data<float>(), stored.raw(),
                static_cast<std::size_t>(tensor.element_count()) * sizeof(float));
  });
}

}  // namespace heed
