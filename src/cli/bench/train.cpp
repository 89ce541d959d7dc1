// heed bench train: training steps and their parts.
#include <fmt/format.h>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/machine.h"
#include "base/wording.h"
#include "bench/train_bench.h"
#include "cli/bench/bench.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kCharacters = 65;  // of Shakespeare

TrainConfig config_of(const BenchOptions& options) {
  TrainConfig config;
  if (!options.config.empty())
    config = parse_train_config(read_file(options.config), options.config);
  if (config.data.empty()) config.data = {"random tokens"};
  for (const TrainShapeKey& key : train_shape_keys())
    if (options.shape.*key.value > 0) config.*key.member = options.shape.*key.value;
  if (!options.dtype.empty()) config.precision = options.dtype;
  check(config);
  return config;
}

std::int64_t vocabulary_of(const BenchOptions& options, const TrainConfig& config) {
  if (options.shape.vocabulary > 0) return options.shape.vocabulary;
  return learns_pieces(config.tokenizer) ? config.vocabulary : kCharacters;
}

Json as_json(const TrainConfig& config, std::int64_t vocabulary, const TrainTiming& timing) {
  JsonFields fields = {{{"case", "train"}, {"dtype", config.precision}}};
  HEED_FIELDS(fields, config.layers, config.heads, config.width, config.block, config.batch,
              config.accumulate, vocabulary, config.dropout, timing.parameters, timing.threads,
              timing.shares, timing.seconds, timing.spread, timing.tokens_per_second,
              timing.forward_seconds, timing.backward_seconds, timing.optimizer_seconds,
              timing.gflops, timing.peak_gflops, timing.fraction_of_peak, timing.allocations);
  return fields.json;
}

std::string as_text(const TrainConfig& config, std::int64_t vocabulary, const TrainTiming& timing) {
  std::string text = fmt::format(
      "{}, threads: {}; {}, {}, width {}, block {}, batch {} x {}, vocabulary {}, "
      "{:.2f} M parameters, {}\n",
      cpu_name(), timing.threads, number_of(config.layers, "layer"),
      number_of(config.heads, "head"), config.width, config.block, config.batch, config.accumulate,
      vocabulary, static_cast<double>(timing.parameters) * 1e-6, config.precision);
  text += fmt::format("{:>10.0f} tokens/s\n{:>10.3f} ms per step (spread {:.1f} %)\n",
                      timing.tokens_per_second, timing.seconds * 1e3, timing.spread * 100);
  for (const auto& [name, seconds] : {std::pair{"forward", timing.forward_seconds},
                                      {"backward", timing.backward_seconds},
                                      {"optimiser", timing.optimizer_seconds}})
    text += fmt::format("{:>10.3f} ms {}\n", seconds * 1e3, name);
  text += fmt::format("{:>10.1f} GFLOP/s, {:.1f} % of {:.1f} (f32 multiply-adds, measured)\n",
                      timing.gflops, timing.fraction_of_peak * 100, timing.peak_gflops);
  return text + fmt::format("{:>10.1f} blocks of memory taken a step\n", timing.allocations);
}

}  // namespace

std::span<const TrainShapeKey> train_shape_keys() {
  static constexpr TrainShapeKey kKeys[] = {
      {"layers", &BenchOptions::Shape::layers, &TrainConfig::layers},
      {"heads", &BenchOptions::Shape::heads, &TrainConfig::heads},
      {"width", &BenchOptions::Shape::width, &TrainConfig::width},
      {"block", &BenchOptions::Shape::block, &TrainConfig::block},
      {"batch", &BenchOptions::Shape::batch, &TrainConfig::batch},
  };
  return kKeys;
}

int bench_train(const BenchOptions& options) {
  const TrainConfig config = config_of(options);
  const std::int64_t vocabulary = vocabulary_of(options, config);
  ProgressLine progress;
  progress.begin("timing steps of training");
  const TrainTiming timing = time_training(config, vocabulary);
  progress.begin("");
  print(options.json ? as_json(config, vocabulary, timing).dump(2) + "\n"
                     : as_text(config, vocabulary, timing));
  Steadiness steadiness;
  steadiness.saw("train", timing.spread);
  steadiness.report();
  return 0;
}

}  // namespace heed::cli
