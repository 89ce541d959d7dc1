// heed bench model: reading a prompt, and generating token by token.
#include "heed/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/machine.h"
#include "base/wording.h"
#include "bench/model_bench.h"
#include "cli/bench/bench.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "models/stored_weights.h"
#include "nn/parameter.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

std::unique_ptr<Model> open(const BenchOptions& options) {
  if (!options.model.empty() && !options.config.empty())
    fail({.found = "--model and --config are both given", .expected = "one of them"});
  std::optional<DType> dtype;
  if (!options.dtype.empty()) dtype = dtype_named(options.dtype);
  if (options.config.empty()) {
    LoadedModel loaded = load_model(find_model(options.model), {.packed = true, .dtype = dtype});
    if (options.byte_activations) round_activations(loaded);
    return std::move(loaded.model);
  }
  if (options.byte_activations)
    fail({.found = "--activations cannot be used with --config, whose weights are not quantised"});
  std::unique_ptr<Model> model = reworded([&] { return make_model(read_file(options.config), 1); },
                                          [&](ErrorParts& parts) {
                                            if (parts.file.text() == "config")
                                              parts.file = options.config;
                                          });
  pack(model->parameters(), dtype.value_or(DType::kF32));
  return model;
}

// The type with the most numbers.
std::string type_of(const Model& model) {
  std::map<std::string, std::int64_t> counts;
  for (const Parameter* parameter : model.parameters())
    counts[parameter->held_in()] += parameter->element_count();
  return std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })
      ->first;
}

Json as_json(const Model& model, const ModelTiming& timing) {
  const ModelInfo& info = model.info();
  const auto& [case_name, prefill, tokens] = timing.problem;
  Json json = {{"case", case_name},
               {"dtype", type_of(model)},
               {"batch", 1},
               {"heads", info.heads},
               {"kv_heads", info.kv_heads},
               {"query_length", prefill ? tokens : 1},
               {"key_length", prefill ? tokens : tokens + 1},
               {"head_dim", info.head_dim},
               {"value_dim", info.head_dim},
               {"mask", "causal"},
               {"threads", timing.threads},
               {"seconds", timing.seconds},
               {"spread", timing.spread},
               {"fastest_seconds", timing.fastest},
               {"tokens_per_second", timing.tokens_per_second}};
  if (!prefill) json.set("gbytes_per_second", timing.gbytes_per_second);
  json.set("read_gbytes_per_second", timing.read_gbytes_per_second);
  return json;
}

std::string heading(const Model& model) {
  return fmt::format("{}, threads: {}; {}, {:.1f} M parameters, {}\n", cpu_name(), thread_count(),
                     model.info().title, static_cast<double>(parameter_count(model)) * 1e-6,
                     type_of(model)) +
         "case          milliseconds  spread  tokens/s   GB/s\n";
}

std::string as_row(const ModelTiming& timing) {
  return fmt::format("{:<13} {:>12.4f}  {:>5.1f}%  {:>8.0f}", timing.problem.name,
                     timing.seconds * 1e3, timing.spread * 100, timing.tokens_per_second) +
         (timing.problem.prefill ? "\n" : fmt::format("  {:>5.1f}\n", timing.gbytes_per_second));
}

}  // namespace

int bench_model(const BenchOptions& options) {
  const std::unique_ptr<Model> model = open(options);
  const std::vector<ModelBenchCase> cases = model_bench_cases(model->info(), options.cases);
  double read = 0;
  BenchTable table(options.json, names_of(cases), heading(*model));
  time_model(*model, cases, [&](const ModelTiming& timing) {
    table.add(timing.problem.name, timing.spread, as_row(timing), as_json(*model, timing));
    read = timing.read_gbytes_per_second;
  });
  table.finish(
      fmt::format("reading memory {:.1f} GB/s; a step takes one token after as many as its "
                  "name says\n",
                  read));
  return 0;
}

}  // namespace heed::cli
