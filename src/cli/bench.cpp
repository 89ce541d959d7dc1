// heed bench: how fast this machine computes, beside what it could do at most.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "heed/base/cpu_name.h"
#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "heed/cases/attention_bench.h"

namespace heed::cli {
namespace {

struct Options {
  std::string what;
  std::vector<std::string> cases;
  std::string kernel;
  bool json = false;
};

nlohmann::ordered_json as_json(const AttentionTiming& timing) {
  const AttentionBenchCase& problem = timing.problem;
  return {{"case", problem.name},
          {"kernel", timing.kernel},
          {"dtype", "f32"},
          {"batch", problem.batch},
          {"heads", problem.heads},
          {"kv_heads", problem.kv_heads},
          {"query_length", problem.length},
          {"key_length", problem.length},
          {"head_dim", problem.head_dim},
          {"value_dim", problem.head_dim},
          {"mask", problem.mask_name},
          {"threads", timing.threads},
          {"seconds", timing.seconds},
          {"spread", timing.spread},
          {"gflops", timing.gflops},
          {"peak_gflops", timing.peak_gflops},
          {"fraction_of_peak", timing.fraction_of_peak},
          {"gbytes_per_second", timing.gbytes_per_second},
          {"read_gbytes_per_second", timing.read_gbytes_per_second}};
}

constexpr const char* kColumns = "{:<18} {:<11} {:>3} {:>3} {:>6} {:>4}  {:<7}";

std::string heading() {
  return fmt::format("{}, threads: {}\n", cpu_name(), thread_count()) +
         fmt::format(kColumns, "case", "kernel", "H", "G", "N", "D", "mask") +
         "  milliseconds  spread  GFLOP/s  of peak\n";
}

std::string as_row(const AttentionTiming& timing) {
  const AttentionBenchCase& problem = timing.problem;
  return fmt::format(kColumns, problem.name, timing.kernel, problem.heads, problem.kv_heads,
                     problem.length, problem.head_dim, problem.mask_name) +
         fmt::format("  {:>12.4f}  {:>5.1f}%  {:>7.1f}  {:>6.1f}%\n", timing.seconds * 1e3,
                     timing.spread * 100, timing.gflops, timing.fraction_of_peak * 100);
}

std::string limits(const AttentionTiming& timing) {
  return fmt::format(
      "peak {:.1f} GFLOP/s of f32 multiply-adds beside the last case; reading memory {:.1f} GB/s\n",
      timing.peak_gflops, timing.read_gbytes_per_second);
}

int run(const Options& options) {
  require(options.what == "attention", "bench: '{}' is unknown: attention is expected",
          options.what);
  const std::vector<AttentionBenchCase> cases = choose_bench_cases(options.cases);
  auto list = nlohmann::ordered_json::array();
  AttentionTiming last;
  if (!options.json) print(heading());
  time_attention(cases, options.kernel, [&](const AttentionTiming& timing) {
    if (options.json)
      list.push_back(as_json(timing));
    else
      print(as_row(timing));
    last = timing;
  });
  print(options.json ? list.dump(2) + "\n" : limits(last));
  return 0;
}

Run add(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, "what to time: attention")->required();
  app.add_option("--case", options->cases, "only these cases")->type_name("NAME");
  app.add_option("--kernel", options->kernel, "this kernel instead of the best that serves")
      ->type_name("NAME");
  app.add_flag("--json", options->json, "print as JSON");
  add_threads(app);
  return [options] { return run(*options); };
}

}  // namespace

Command bench_command() {
  return {"bench", "how fast attention runs here, beside what this machine allows",
          "  heed bench attention\n"
          "  heed bench attention --case plain-n1024-d128 causal-n4096-d64 --threads 1 --json",
          add};
}

}  // namespace heed::cli
