#include "bench/train_bench.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "bench/machine_limits.h"
#include "bench/measure.h"
#include "heed/model.h"
#include "heed/threads.h"
#include "tensor/memory.h"
#include "train/adamw.h"
#include "train/initial_weights.h"
#include "train/passes.h"
#include "train/task.h"
#include "train/text_data.h"

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

// Forward 2 FLOP, backward 4, for every matrix element and token; a table used only for look-ups
// costs nothing, but a tied one is the head's matrix. A visible pair of attention costs 4 C forward
// and 10 C backward.
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

// A run like `heed train`'s, on random text, step by step.
class TimedRun {
 public:
  TimedRun(const TrainConfig& config, std::int64_t vocabulary)
      : config_(config),
        task_(make_lm_task(config,
                           random_text(vocabulary, std::max<std::int64_t>(4 * tokens(), 4096)))),
        model_(make_model(model_config_json(config, {.vocabulary = vocabulary}), 1)),
        parameters_(model_->parameters()),
        optimizer_(parameters_, gradients_, {}),
        passes_(config_, *task_, *model_, parameters_, gradients_) {}

  std::int64_t tokens() const { return config_.batch * config_.accumulate * config_.block; }
  const Passes& passes() const { return passes_; }
  double flop() const { return flop_of_step(config_, parameters_); }
  std::int64_t steps() const { return steps_; }
  double optimizer_seconds() const { return optimizer_seconds_; }

  void step() {
    passes_.loss_and_gradients(steps_++);
    optimizer_seconds_ += seconds_of([&] {
      const double norm = optimizer_.gradient_norm();
      const bool clips = config_.clip > 0 && norm > config_.clip;
      optimizer_.step(1e-4, clips ? config_.clip / norm : 1);
    });
  }

  const Model& model() const { return *model_; }

 private:
  const TrainConfig& config_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Model> model_;
  std::vector<Parameter*> parameters_;
  Gradients gradients_;
  AdamW optimizer_;
  Passes passes_;
  std::int64_t steps_ = 0;
  double optimizer_seconds_ = 0;
};

}  // namespace

TrainTiming time_training(const TrainConfig& config, std::int64_t vocabulary) {
  check(config);
  TimedRun run(config, vocabulary);
  run.step();  // allocates memory and prepares products
  const Passes::Seconds before = run.passes().seconds();
  const double optimizer_before = run.optimizer_seconds();
  const std::int64_t blocks = tensor_blocks_taken();
  const Repeated times = repeat([&] { run.step(); });
  const auto timed = static_cast<double>(run.steps() - 1);
  const Passes::Seconds after = run.passes().seconds();
  const double each = timed * static_cast<double>(run.passes().shares());
  const double gflops = run.flop() / times.seconds * 1e-9;
  const double peak = peak_gflops(thread_count());
  return {.threads = thread_count(),
          .shares = run.passes().shares(),
          .parameters = parameter_count(run.model()),
          .seconds = times.seconds,
          .spread = times.spread,
          .tokens_per_second = static_cast<double>(run.tokens()) / times.seconds,
          .forward_seconds = (after.forward - before.forward) / each,
          .backward_seconds = (after.backward - before.backward) / each,
          .optimizer_seconds = (run.optimizer_seconds() - optimizer_before) / timed,
          .gflops = gflops,
          .peak_gflops = peak,
          .fraction_of_peak = gflops / peak,
          .allocations = static_cast<double>(tensor_blocks_taken() - blocks) / timed};
}

}  // namespace heed
