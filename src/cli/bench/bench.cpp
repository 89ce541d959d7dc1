// heed bench: how fast this machine computes, compared with its limits.
#include "cli/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/terminal/output.h"
#include "heed/error.h"

namespace heed::cli {

BenchTable::BenchTable(bool as_json, std::vector<std::string> cases, std::string heading)
    : as_json_(as_json), left_(std::move(cases)), before_(as_json ? "[\n" : std::move(heading)) {
  progress_.begin("",
                  left_.size() > 1 ? std::ssize(left_) : 0);  // a single case shows only the time
  std::ranges::reverse(left_);
  name_next();
}

void BenchTable::name_next() {
  if (left_.empty()) return;
  progress_.name("timing " + left_.back());
  left_.pop_back();
}

void BenchTable::add(const std::string& name, double spread, const std::string& row,
                     const Json& json) {
  const std::string before = std::exchange(before_, as_json_ ? ",\n" : "");
  progress_.aside([&] { print(before + (as_json_ ? json.dump(2) : row)); });
  progress_.advance();
  name_next();
  steadiness_.saw(name, spread);
}

void BenchTable::finish(const std::string& footer) {
  progress_.begin("");
  const bool has_rows = before_ == ",\n";
  print(!as_json_ ? before_ + footer : has_rows ? "\n]\n" : "[]\n");
  steadiness_.report();
}

namespace {

struct Kind {
  std::string_view name;
  int (*run)(const BenchOptions&);
  std::string_view options;  // besides --json and --threads, each followed by a space
};

constexpr Kind kKinds[] = {
    {"attention", bench_attention, "--case --kernel --peers "},
    {"backward", bench_backward, "--case --kernel --peers "},
    {"decode", bench_decode, "--case --kernel "},
    {"matmul", bench_matmul, "--case "},
    {"model", bench_model, "--case --model --config --dtype "},
    {"inspect", bench_inspect, "--model --config "},
    {"arrays", bench_arrays, "--tokens "},
    {"tokenize", bench_tokenize, "--model --tokenizer --text "},
    {"train", bench_train,
     "--config --dtype --layers --heads --width --block --batch --vocabulary "},
    {"ring", bench_ring, "--tokens "},
};

bool takes(const Kind& kind, const std::string& option) {
  return kind.options.find(option + " ") != std::string_view::npos;
}

// The kinds for which `holds` is true: "attention, backward, decode".
std::string kinds(const std::function<bool(const Kind&)>& holds) {
  std::string names;
  for (const Kind& kind : kKinds)
    if (holds(kind)) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

int run(const Given& given, const std::string& what, const BenchOptions& options) {
  const auto kind = std::ranges::find(kKinds, what, &Kind::name);
  if (kind == std::end(kKinds))
    fail({.argument = "WHAT",
          .found = fmt::format("'{}'", what),
          .expected = "one of " + kinds([](const Kind&) { return true; })});
  for (const Given::Entry& option : given.entries()) {
    const auto takes_it = [&option](const Kind& one) { return takes(one, option.name); };
    const std::string served = kinds(takes_it);
    if (option.given && !served.empty() && !takes_it(*kind))
      fail({.argument = option.name,
            .found = fmt::format("given with {}", what),
            .expected = fmt::format("it with {}", served)});
  }
  return kind->run(options);
}

void add_problem(OptionList& list, BenchOptions& options) {
  add(list,
      {{.name = "--case",
        .to = &options.cases,
        .type = "NAME",
        .help = "only these cases; the first column of the table names them",
        .list = List::kInARow},
       {"--kernel", &options.kernel, "NAME",
        "attention, backward, decode: this kernel instead of the fastest that can"},
       {"--peers", &options.peers, "PYTHON",
        "attention, backward: time PyTorch, its compiled flex_attention, onnxruntime and "
        "the unfused composition in turns with heed, as far as this Python has them"},
       {.name = "--dtype",
        .to = &options.dtype,
        .help = "model: hold weights in this type (default: the file's; f32 with --config); train: "
                "what products are computed in, f32 or bf16",
        .words = {"f32", "f16", "bf16"}},
       activations_option(options.byte_activations),
       model_option(options.model),
       {"--config", &options.config, "FILE",
        "model, inspect: random weights in the shape of this config.json, instead of a "
        "model; train: the shape of this training configuration"},
       {"--tokenizer", &options.tokenizer, "FILE",
        "tokenize: this tokenizer's file or folder, instead of a model's"},
       {.name = "--text",
        .to = &options.texts,
        .type = "FILE",
        .help = "tokenize: these texts",
        .list = List::kInARow}});
}

void add_train_shape(OptionList& list, BenchOptions& options) {
  for (const TrainShapeKey& key : train_shape_keys())
    add(list, {{.name = std::string("--") + key.name,
                .to = &(options.shape.*key.value),
                .help = "train: replaces the configuration's value",
                .least = 1}});
  add(list, {{.name = "--vocabulary",
              .to = &options.shape.vocabulary,
              .help = "train: vocabulary of the random tokens (default: 65, or the "
                      "configuration's with byte-bpe)",
              .least = 1}});
}

Run declare(OptionList& list) {
  const auto what = std::make_shared<std::string>();
  const auto options = std::make_shared<BenchOptions>();
  add(list,
      {{.name = "WHAT",
        .to = what.get(),
        .help =
            "what to time: attention: the forward pass; backward: the backward pass; decode: one "
            "new token on the forms of the key/value cache; matmul: the products of linear "
            "layers, as models and training take them; model: reading a prompt "
            "and writing token by token; inspect: the page's server on a text of 4,096 "
            "tokens; arrays: the same on q, k and v of one layer; tokenize: texts to tokens "
            "and back; train: steps of training on random "
            "tokens; ring: attention of one text over the processes of mpirun",
        .required = true}});
  add_problem(list, *options);
  add_train_shape(list, *options);
  add(list, {{.name = "--tokens",
              .to = &options->tokens,
              .help = "ring, arrays: tokens of the text (default: 16384; 100000)",
              .least = 1}});
  add(list, {threads_option()});
  add_json_options(list, options->json);
  return [what, options](const Given& given) { return run(given, *what, *options); };
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

void Steadiness::report() const { tell("{}", warning()); }

Command bench_command() {
  return {"bench",
          "how fast attention, models and training run here, beside what this machine allows",
          "  heed bench attention\n"
          "  heed bench attention --case plain-n1024-d128 causal-n4096-d64 --threads 1 --json\n"
          "  heed bench attention --peers python3 --case causal-n2048-d64\n"
          "  heed bench decode --case k8192-f32 k8192-i8\n"
          "  heed bench matmul --case 768x3072-r1-bf16 768x3072-r512-bf16 forward-128x512\n"
          "  heed bench model --config config.json --case prefill-512 step-250\n"
          "  heed bench inspect\n"
          "  heed bench tokenize --tokenizer tokenizer.json --text examples/story.txt\n"
          "  heed bench train --config examples/shakespeare-char.json",
          declare};
}

}  // namespace heed::cli
