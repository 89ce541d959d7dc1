// heed bench inspect, arrays: the page's server on a long text, and on long arrays.
#include <fmt/format.h>

#include <functional>
#include <string>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/machine.h"
#include "base/wording.h"
#include "bench/serve_bench.h"
#include "cli/bench/bench.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/model.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kTokens = 4096;

// GPT-2 small with more positions, random weights, and the built-in model's tokenizer.
LoadedModel shaped(const BenchOptions& options) {
  LoadedModel model = load_model(find_model({}));
  Json config = {{"model_type", "gpt2"},
                 {"n_layer", 12},
                 {"n_head", 12},
                 {"n_embd", 768},
                 {"n_positions", kTokens}};
  if (!options.config.empty())
    config = JsonText::parse(read_file(options.config), {options.config}).root();
  config.set("vocab_size", model.tokenizer->vocabulary_size());
  model.model = make_model(config.dump(), 1);
  model.name = "random";
  return model;
}

std::string as_row(const ServerFigure& figure) {
  std::string row = fmt::format("{:<36} {:>9.2f} {:<2}", figure.name, figure.value, figure.unit);
  row += figure.limit > 0
             ? fmt::format("  {:>7.1f}  {:>5.2f}", figure.limit, figure.value / figure.limit)
             : std::string(16, ' ');
  if (figure.processor >= 0) row += fmt::format("  {:>9.2f} ms", figure.processor);
  return row + "\n";
}

Json as_json(const ServerFigure& figure) {
  Json json = {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
  if (figure.limit > 0) json.set("limit", figure.limit);
  if (figure.processor >= 0) json.set("processor_ms", figure.processor);
  return json;
}

using Done = std::function<void(const ServerFigure&)>;

// Prints each result as soon as it is ready.
int report(const BenchOptions& options, const std::string& what,
           const std::function<void(const Done&)>& work) {
  if (!options.json)
    print(fmt::format("{}, threads: {}; {}\n{:<51}{:>7}  {}  {}\n", cpu_name(), thread_count(),
                      what, "", "limit", "ratio", "processor"));
  auto list = Json::array();
  ProgressLine progress;
  progress.begin("timing the page's server");
  work([&](const ServerFigure& figure) {
    if (options.json)
      list.push(as_json(figure));
    else
      progress.aside([&] { print(as_row(figure)); });
  });
  progress.begin("");
  if (options.json) print(list.dump(2) + "\n");
  return 0;
}

}  // namespace

int bench_inspect(const BenchOptions& options) {
  if (!options.model.empty() && !options.config.empty())
    fail({.found = "--model and --config are both given", .expected = "one of them"});
  const LoadedModel model =
      options.model.empty() ? shaped(options) : load_model(find_model(options.model));
  const ModelInfo& info = model.model->info();
  const std::int64_t tokens = std::min(kTokens, info.positions);
  const std::string what =
      fmt::format("{} x {} x {}, {}", number_of(info.layers, "layer"),
                  number_of(info.heads, "head"), info.head_dim, number_of(tokens, "token"));
  return report(options, what, [&](const Done& done) { time_server(model, tokens, done); });
}

int bench_arrays(const BenchOptions& options) {
  constexpr std::int64_t kLong = 100'000, kHeads = 8;
  const std::int64_t tokens = options.tokens > 0 ? options.tokens : kLong;
  return report(
      options,
      fmt::format("1 layer x {} x 64, {}", number_of(kHeads, "head"), number_of(tokens, "token")),
      [&](const Done& done) { time_arrays(kHeads, tokens, done); });
}

}  // namespace heed::cli
