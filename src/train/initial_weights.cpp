#include "train/initial_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string_view>

#include "base/machine.h"
#include "base/wording.h"
#include "heed/error.h"
#include "models/classifier.h"
#include "models/family.h"

namespace heed {
namespace {

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    sum += std::pow(static_cast<double>(tensor.data<float>()[i]), 2);
  return std::sqrt(sum / static_cast<double>(tensor.element_count()));
}

}  // namespace

void start_sinusoidal(Parameter& table) {
  constexpr double kBase = 10000;
  const std::int64_t positions = table.value.dim(0);
  const std::int64_t width = table.value.dim(1);
  const std::int64_t half = (width + 1) / 2;
  float* values = table.value.data<float>();
  // The root mean square of a sine is 1/sqrt 2.
  const double amplitude = std::numbers::sqrt2 * root_mean_square(table.value);
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t c = 0; c < width; ++c) {
      const double share = static_cast<double>(c % half) / static_cast<double>(half);
      const double angle = static_cast<double>(p) * std::pow(kBase, -share);
      values[p * width + c] =
          static_cast<float>(amplitude * (c < half ? std::sin(angle) : std::cos(angle)));
    }
}

namespace {

// Loads a model, with its head if it has the run's labels. A head for other labels, even
// as many, has learned something else.
std::unique_ptr<Model> given_model(const std::filesystem::path& folder, const Classifier* run) {
  if (run != nullptr) {
    const auto given = classifier_config(model_config(folder));
    if (given && given->labels == run->classifier().labels &&
        given->by_text == run->classifier().by_text)
      return load_classifier(folder).model;
  }
  return load_model(folder, {.tokenizers = false}).model;
}

[[noreturn]] void refuse_start(const std::filesystem::path& folder, std::string_view with,
                               std::string expected) {
  fail("train", "start_from", fmt::format("{} with {}", folder.string(), with),
       std::move(expected));
}

}  // namespace

void start_from(const std::filesystem::path& folder, Model& model) {
  auto* const labelling = dynamic_cast<Classifier*>(&model);
  const auto given = given_model(folder, labelling);
  std::map<std::string, const Parameter*> from;
  for (const Parameter* parameter : given->parameters()) from.emplace(parameter->name, parameter);
  std::vector<Parameter*> new_head;
  if (labelling != nullptr) new_head = labelling->head_parameters();
  for (Parameter* parameter : model.parameters()) {
    const auto found = from.find(parameter->name);
    const std::string wanted =
        fmt::format("{} {}", parameter->name, to_string(parameter->value.shape()));
    if (found == from.end()) {
      if (std::ranges::find(new_head, parameter) == new_head.end())
        refuse_start(folder, "no " + parameter->name, wanted);
      continue;
    }
    const Tensor& value = found->second->value;
    if (value.shape() != parameter->value.shape())
      refuse_start(folder, fmt::format("{} {}", parameter->name, to_string(value.shape())), wanted);
    std::copy_n(value.data<float>(), value.element_count(), parameter->value.data<float>());
    from.erase(found);
  }
  if (labelling == nullptr && !from.empty())
    refuse_start(folder, from.begin()->first, "a model without it, as the run's");
}

std::filesystem::path start_folder(const TrainConfig& config) {
  return reworded([&] { return find_model(config.start_from); },
                  [](ErrorParts& parts) {
                    parts.op = "train";
                    parts.argument = "start_from";
                  });
}

TrainConfig settled(TrainConfig config) {
  if (config.start_from.empty() || config.block != TrainConfig().block) return config;
  if (const auto model = describe_model(start_folder(config)))
    config.block = std::min(config.block, model->info.positions);
  return config;
}

std::string model_config_json(const TrainConfig& config, const TrainingShape& of_task) {
  TrainingShape shape = of_task;
  shape.positions = config.block;
  shape.layers = config.layers;
  shape.heads = config.heads;
  shape.width = config.width;
  shape.dropout = config.dropout;
  shape.attention_dropout = config.attention_dropout;
  return config.start_from.empty() ? training_config(shape, config.model)
                                   : continued_config(start_folder(config), shape, config.model);
}

namespace {

void start_positions(const TrainConfig& config, Model& model) {
  if (config.initial_positions == "random") return;
  Parameter* const table = model.position_table();
  if (table == nullptr)
    fail("train", "initial_positions", fmt::format("\"{}\"", config.initial_positions),
         fmt::format("\"random\": {} has no table of positions", model.info().title));
  if (config.initial_positions == "sinusoidal")
    start_sinusoidal(*table);
  else
    std::fill_n(table->value.data<float>(), table->value.element_count(), 0.0F);
}

}  // namespace

std::unique_ptr<Model> new_model(const TrainConfig& config, const TrainingShape& of_task) {
  if (config.start_from.empty())
    check_memory(config, of_task.vocabulary + of_task.target_vocabulary);
  auto model =
      make_model(model_config_json(config, of_task), static_cast<std::uint64_t>(config.seed));
  start_positions(config, *model);
  if (config.start_from.empty()) return model;
  start_from(start_folder(config), *model);
  return model;
}

namespace {

// A layer has at least 4 C^2 weights in attention and, if the configuration does not change the
// model further, 8 C^2 in the MLP.
double weights_of(const TrainConfig& c, double vocabulary) {
  const auto width = static_cast<double>(c.width);
  const double a_layer = (c.model == "{}" ? 12 : 4) * width * width;
  return static_cast<double>(c.layers) * a_layer +
         (vocabulary + static_cast<double>(c.block)) * width;
}

struct Extent {
  std::string_view key;
  std::int64_t TrainConfig::* member;
};
constexpr std::array<Extent, 3> kExtents = {{{"layers", &TrainConfig::layers},
                                             {"width", &TrainConfig::width},
                                             {"block", &TrainConfig::block}}};

std::string gigabytes(double bytes) {
  return fmt::format("{:.{}f} GB", bytes * 1e-9, bytes < 1e10 ? 1 : 0);
}

}  // namespace

double least_bytes(const TrainConfig& c, std::int64_t vocabulary) {
  const auto words = static_cast<double>(vocabulary);
  // Per token and layer: the stream, q, k, v and attention's output, or the inputs of its two
  // branches; and the logits.
  const double of_layer = c.recompute == "block" ? 2 : 5;
  const double kept =
      static_cast<double>(c.block) *
      (of_layer * static_cast<double>(c.layers) * static_cast<double>(c.width) + words);
  return sizeof(float) * (4 * weights_of(c, words) + kept);
}

void check_memory(const TrainConfig& config, std::int64_t vocabulary, double there_are) {
  const double needed = least_bytes(config, vocabulary);
  if (needed <= there_are) return;
  // The key to blame is the one that would leave the least if it were 1.
  const auto left = [&](const Extent& extent) {
    TrainConfig smaller = config;
    smaller.*extent.member = 1;
    return least_bytes(smaller, vocabulary);
  };
  const Extent& worst = *std::ranges::min_element(kExtents, {}, left);
  fail("train", worst.key, config.*worst.member,
       fmt::format("less: the run would take {} of memory, and this machine has {}",
                   gigabytes(needed), gigabytes(there_are)));
}

void check_memory(const TrainConfig& config, std::int64_t vocabulary) {
  check_memory(config, vocabulary, memory_there());
}

}  // namespace heed
