// heed bench: how fast this machine computes, beside what it could do at most.
#include "cli/bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "heed/base/error.h"

namespace heed::cli {
namespace {

struct Kind {
  std::string_view name;
  int (*run)(const BenchOptions&);
  std::string_view options;  // beside --json and --threads; a blank behind each
};

constexpr Kind kKinds[] = {
    {"attention", bench_attention, "--case --kernel "},
    {"backward", bench_backward, "--case --kernel "},
    {"decode", bench_decode, "--case --kernel "},
    {"matmul", bench_matmul, "--case "},
    {"model", bench_model, "--case --model --config "},
    {"inspect", bench_inspect, "--model --config "},
    {"train", bench_train, "--config --layers --heads --width --block --batch --vocabulary "},
};

bool takes(const Kind& kind, const std::string& option) {
  return kind.options.find(option + " ") != std::string_view::npos;
}

// Those for which `holds`: "attention, backward, decode".
std::string kinds(const std::function<bool(const Kind&)>& holds) {
  std::string names;
  for (const Kind& kind : kKinds)
    if (holds(kind)) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

int run(const CLI::App& app, const std::string& what, const BenchOptions& options) {
  const auto kind = std::ranges::find(kKinds, what, &Kind::name);
  require(kind != std::end(kKinds), "bench: '{}' is unknown: one of {} is expected", what,
          kinds([](const Kind&) { return true; }));
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const auto takes_it = [&name](const Kind& one) { return takes(one, name); };
    const std::string served = kinds(takes_it);
    require(option->count() == 0 || served.empty() || takes_it(*kind),
            "{} with {}, expected it with {}", name, what, served);
  }
  return kind->run(options);
}

Run add(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  const auto options = std::make_shared<BenchOptions>();
  app.add_option(
         "WHAT", *what,
         "what to time: attention, forward; backward: its backward pass alone; decode: one new "
         "token on the forms of the key/value cache; matmul: the products of linear layers, as "
         "training and reading a long text take them; model: reading a prompt and writing token "
         "by token; "
         "inspect: the page's server on a text of 4,096 tokens; train: steps of training on "
         "random tokens")
      ->required();
  app.add_option("--case", options->cases,
                 "only these cases; the first column of the table names them")
      ->type_name("NAME");
  app.add_option("--kernel", options->kernel,
                 "attention, backward, decode: this kernel instead of the best that serves")
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
  return [what, options, &app] { return run(app, *what, *options); };
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
          "  heed bench decode --case k8192-f32 k8192-i8\n"
          "  heed bench matmul --case forward-128x512 dweight-128x512\n"
          "  heed bench model --config config.json --case prefill-512 step-250\n"
          "  heed bench inspect\n"
          "  heed bench train --config examples/shakespeare-char.json",
          add};
}

}  // namespace heed::cli
