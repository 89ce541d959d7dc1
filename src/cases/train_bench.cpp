#include "heed/cases/train_bench.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "cases/repeat.h"
#include "heed/base/philox.h"
#include "heed/base/threads.h"
#include "heed/cases/machine_limits.h"
#include "heed/models/registry.h"
#include "heed/tensor/memory.h"
#include "heed/train/adamw.h"
#include "train/lm_passes.h"

namespace heed {
namespace {

TextData random_text(std::int64_t vocabulary, std::int64_t tokens) {
  TextData data;
  Random random(2024);
  for (std::int64_t i = 0; i < tokens; ++i)
    data.train.push_back(
        static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary))));
  return data;
}

// Forward 2 FLOP, backward 4, for every element of a matrix and every token; a table that tokens
// only look up costs nothing, but a tied one is the head's matrix. A visible pair of attention
// costs 4 C forward and 10 C backward.
double flop_of_step(const TrainConfig& config, std::span<Parameter* const> parameters) {
  double matrices = 0;
  bool untied = false;
  for (const Parameter* parameter : parameters) {
    const std::string_view name = parameter->name;
    if (parameter->value.rank() != 2 || name.ends_with("wpe.weight")) continue;
    matrices += static_cast<double>(parameter->value.element_count());
    untied |= name == "lm_head.weight";
  }
  for (const Parameter* parameter : parameters)
    if (untied && std::string_view(parameter->name).ends_with("wte.weight"))
      matrices -= static_cast<double>(parameter->value.element_count());
  const auto block = static_cast<double>(config.block);
  const auto sequences = static_cast<double>(config.batch * config.accumulate);
  const double pairs = static_cast<double>(config.layers) * block * (block + 1) / 2;
  return sequences * (6 * matrices * block + 14 * static_cast<double>(config.width) * pairs);
}

}  // namespace

TrainTiming time_training(const TrainConfig& config, std::int64_t vocabulary) {
  check(config);
  const std::int64_t tokens = config.batch * config.accumulate * config.block;
  const TextData data = random_text(vocabulary, std::max<std::int64_t>(4 * tokens, 4096));
  const std::unique_ptr<Model> model =
      make_model(model_config_json(config, vocabulary, data.separator), 1);
  const std::vector<Parameter*> parameters = model->parameters();
  Gradients gradients;
  AdamW optimizer(parameters, gradients, {});
  LmPasses passes(config, data, *model, parameters, gradients);
  std::int64_t steps = 0;
  double optimizer_seconds = 0;
  const auto step = [&] {
    passes.loss_and_gradients(steps++);
    optimizer_seconds += seconds_of([&] {
      const double norm = optimizer.gradient_norm();
      optimizer.step(1e-4, config.clip > 0 && norm > config.clip ? config.clip / norm : 1);
    });
  };
  step();  // makes products and takes memory
  const LmPasses::Seconds before = passes.seconds();
  const std::int64_t blocks = tensor_blocks_taken();
  optimizer_seconds = 0;
  const Repeated times = repeat(step);
  const auto timed = static_cast<double>(steps - 1);
  const double each = timed * static_cast<double>(passes.shares());
  TrainTiming timing = {.threads = thread_count(),
                        .shares = passes.shares(),
                        .seconds = times.seconds,
                        .spread = times.spread};
  for (const Parameter* parameter : parameters)
    timing.parameters += parameter->value.element_count();
  timing.tokens_per_second = static_cast<double>(tokens) / times.seconds;
  timing.forward_seconds = (passes.seconds().forward - before.forward) / each;
  timing.backward_seconds = (passes.seconds().backward - before.backward) / each;
  timing.optimizer_seconds = optimizer_seconds / timed;
  timing.gflops = flop_of_step(config, parameters) / times.seconds * 1e-9;
  timing.peak_gflops = peak_gflops(thread_count());
  timing.fraction_of_peak = timing.gflops / timing.peak_gflops;
  timing.allocations = static_cast<double>(tensor_blocks_taken() - blocks) / timed;
  return timing;
}

}  // namespace heed
