#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/safetensors.h"

namespace heed {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr char kStateKey[] = "heed_train_state";

// The step in a checkpoint's name, -1 for any other file.
std::int64_t step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  std::int64_t step = -1;
  const auto [stopped, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stopped == end ? step : -1;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> number_or_none(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

std::string to_json(const TrainState& state) {
  return Json{{"step", state.step},
              {"loss", state.loss},
              {"validation_loss", optional_number(state.validation_loss)},
              {"best_loss", optional_number(state.best_loss)},
              {"best_step", state.best_step},
              {"seconds", state.seconds},
              {"data_digest", state.data_digest},
              {"cpu", state.cpu},
              {"threads", state.threads},
              {"config", state.config}}
      .dump();
}

TrainState parse_state(const std::string& text) {
  const Json json = Json::parse(text);
  return {.step = json.at("step"),
          .loss = json.at("loss"),
          .validation_loss = number_or_none(json.at("validation_loss")),
          .best_loss = number_or_none(json.at("best_loss")),
          .best_step = json.at("best_step"),
          .seconds = json.at("seconds"),
          .data_digest = json.at("data_digest"),
          .cpu = json.at("cpu"),
          .threads = json.at("threads"),
          .config = json.at("config")};
}

// The three tensors of each parameter; `visit(name, tensor)`.
template <typename Visit>
void for_each_tensor(const Trained& trained, const Visit& visit) {
  for (std::size_t i = 0; i < trained.parameters.size(); ++i) {
    Parameter& parameter = *trained.parameters[i];
    AdamW::Moments& moments = trained.optimizer.moments()[i];
    visit("value." + parameter.name, parameter.value);
    visit("first." + parameter.name, moments.first);
    visit("second." + parameter.name, moments.second);
  }
}

}  // namespace

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
  write_safetensors(path, tensors, {{kStateKey, to_json(state)}});
}

TrainState read_state(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::open(path);
  const auto found = file.metadata().find(kStateKey);
  if (found == file.metadata().end())
    fail(ErrorCode::kCorrupt, "{}: no state of a training run, expected a checkpoint",
         path.string());
  try {
    return parse_state(found->second);
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorrupt, "{}: the state of the training run cannot be read: {}", path.string(),
         error.what());
  }
}

void read_tensors(const std::filesystem::path& path, const Trained& trained) {
  const Safetensors file = Safetensors::open(path);
  for_each_tensor(trained, [&](const std::string& name, Tensor& tensor) {
    if (!file.contains(name))
      fail(ErrorCode::kCorrupt, "{}: tensor {} is missing", path.string(), name);
    const ConstView stored = file.tensor(name);
    if (stored.dtype() != DType::kF32 || !(stored.shape() == tensor.shape()))
      fail(ErrorCode::kCorrupt, "{}: tensor {} is {} {}, expected f32 {}", path.string(), name,
           heed::name(stored.dtype()), to_string(stored.shape()), to_string(tensor.shape()));
    std::memcpy(tensor.data<float>(), stored.raw(),
                static_cast<std::size_t>(tensor.element_count()) * sizeof(float));
  });
}

}  // namespace heed
