// heed bench: how fast this machine computes, beside what it could do at most.
#include "cli/bench.h"

#include <cstdio>
#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "heed/base/error.h"

namespace heed::cli {
namespace {

struct Kind {
  std::string_view name;
  int (*run)(const BenchOptions&);
};

constexpr Kind kKinds[] = {
    {"attention", bench_attention}, {"backward", bench_backward}, {"model", bench_model},
    {"inspect", bench_inspect},     {"train", bench_train},
};

int run(const std::string& what, const BenchOptions& options) {
  const auto kind = std::ranges::find(kKinds, what, &Kind::name);
  require(kind != std::end(kKinds),
          "bench: '{}' is unknown: one of attention, backward, model, inspect, train is expected",
          what);
  const auto& shape = options.shape;
  require(kind->run == bench_train || shape.layers + shape.heads + shape.width + shape.block +
                                              shape.batch + shape.vocabulary ==
                                          0,
          "a shape with {}, expected it with train only", what);
  return kind->run(options);
}

Run add(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  const auto options = std::make_shared<BenchOptions>();
  app.add_option(
         "WHAT", *what,
         "what to time: attention, forward; backward: its backward pass alone; model: reading a "
         "prompt and writing token by token; "
         "inspect: the page's server on a text of 4,096 tokens; train: steps of training on "
         "random tokens")
      ->required();
  app.add_option("--case", options->cases,
                 "only these cases; the first column of the table names them")
      ->type_name("NAME");
  app.add_option("--kernel", options->kernel,
                 "attention, backward: this kernel instead of the best that serves")
      ->type_name("NAME");
  add_model(app, options->model);
  app.add_option("--config", options->config,
                 "model, inspect: random weights in the shape of this config.json, instead of a "
                 "model; train: the shape of this training configuration")
      ->type_name("FILE");
  for (const TrainShapeKey& key : train_shape_keys())
    app.add_option(std::string("--") + key.name, options->shape.*key.value,
                   "train: instead of the configuration's")
        ->type_name("INT")
        ->transform(number_of<std::int64_t>(1));
  app.add_option("--vocabulary", options->shape.vocabulary,
                 "train: of the random tokens, instead of 65 (a byte-bpe's: the configuration's)")
      ->type_name("INT")
      ->transform(number_of<std::int64_t>(1));
  app.add_flag("--json", options->json, "print as JSON");
  add_threads(app);
  return [what, options] { return run(*what, *options); };
}

}  // namespace

void Steadiness::saw(const std::string& name, double spread) {
  if (spread <= spread_) return;
  name_ = name;
  spread_ = spread;
}

std::string Steadiness::warning() const {
  if (spread_ <= kBusySpread) return {};
  return fmt::format(
      "heed bench: the machine was busy: the times of {} spread by {:.0f} %, expected at most "
      "{:.0f} "
      "%; measure again when it is idle\n",
      name_, spread_ * 100, kBusySpread * 100);
}

void Steadiness::report() const { fmt::print(stderr, "{}", warning()); }

Command bench_command() {
  return {"bench",
          "how fast attention, models and training run here, beside what this machine allows",
          "  heed bench attention\n"
          "  heed bench attention --case plain-n1024-d128 causal-n4096-d64 --threads 1 --json\n"
          "  heed bench model --config config.json --case prefill-512 step-250\n"
          "  heed bench inspect\n"
          "  heed bench train --config examples/shakespeare-char.json",
          add};
}

}  // namespace heed::cli
