#include "train/initial_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/reworded.h"
#include "heed/base/error.h"
#include "heed/models/registry.h"
#include "train/memory_needed.h"
#include "train/passes.h"

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

void start_from(const std::filesystem::path& folder, Model& model) {
  const LoadedModel given = load_model(folder);
  const auto from = given.model->parameters();
  const auto into = model.parameters();
  const auto refuse = [&](std::string found, std::string expected) {
    fail({.op = "train",
          .argument = "start_from",
          .found = fmt::format("{} with {}", folder.string(), found),
          .expected = std::move(expected)});
  };
  if (from.size() != into.size())
    refuse(fmt::format("{} parameters", from.size()), fmt::to_string(into.size()));
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (from[i]->name != into[i]->name || from[i]->value.shape() != into[i]->value.shape())
      refuse(fmt::format("{} {}", from[i]->name, to_string(from[i]->value.shape())),
             fmt::format("{} {}", into[i]->name, to_string(into[i]->value.shape())));
    std::copy_n(from[i]->value.data<float>(), from[i]->value.element_count(),
                into[i]->value.data<float>());
  }
}

namespace {

void start_positions(const TrainConfig& config, Model& model) {
  if (config.initial_positions == "random") return;
  Parameter* const table = model.position_table();
  if (table == nullptr)
    fail({.op = "train",
          .argument = "initial_positions",
          .found = fmt::format("\"{}\"", config.initial_positions),
          .expected = fmt::format("\"random\": {} has no table of positions", model.info().title)});
  if (config.initial_positions == "sinusoidal")
    start_sinusoidal(*table);
  else
    std::fill_n(table->value.data<float>(), table->value.element_count(), 0.0F);
}

}  // namespace

std::unique_ptr<Model> new_model(const TrainConfig& config, const TrainingShape& of_task) {
  check_memory(config, of_task.vocabulary + of_task.target_vocabulary);
  auto model =
      make_model(model_config_json(config, of_task), static_cast<std::uint64_t>(config.seed));
  start_positions(config, *model);
  if (config.start_from.empty()) return model;
  const auto folder = reworded([&] { return find_model(config.start_from); },
                               [](ErrorParts& parts) {
                                 parts.op = "train";
                                 parts.argument = "start_from";
                               });
  start_from(folder, *model);
  return model;
}

}  // namespace heed
