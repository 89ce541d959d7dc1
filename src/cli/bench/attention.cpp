// heed bench attention, heed bench backward: the operator alone, case by case.
#include <fmt/format.h>

#include "base/cpu_name.h"
#include "base/json.h"
#include "bench/attention_bench.h"
#include "cli/bench/bench.h"
#include "cli/bench/table.h"
#include "heed/base/threads.h"

namespace heed::cli {
namespace {

Json as_json(const AttentionTiming& timing) {
  const AttentionCase& problem = timing.problem;
  Json json = {{"case", problem.name},
               {"kernel", timing.kernel},
               {"dtype", name(problem.dtype)},
               {"batch", problem.batch},
               {"heads", problem.heads},
               {"kv_heads", problem.kv_heads},
               {"query_length", problem.query_length},
               {"key_length", problem.key_length},
               {"head_dim", problem.head_dim},
               {"value_dim", problem.value_dim},
               {"mask", mask_word(problem)},
               {"threads", timing.threads},
               {"seconds", timing.seconds},
               {"spread", timing.spread},
               {"gflops", timing.gflops},
               {"peak_gflops", timing.peak_gflops},
               {"fraction_of_peak", timing.fraction_of_peak},
               {"gbytes_per_second", timing.gbytes_per_second},
               {"read_gbytes_per_second", timing.read_gbytes_per_second}};
  if (timing.peak_bytes >= 0) json.set("peak_bytes", timing.peak_bytes);
  return json;
}

constexpr const char* kRowFormat = "{:<23} {:<11} {:>3} {:>3} {:>6} {:>4}  {:<8}";

std::string attention_heading() {
  return fmt::format("{}, threads: {}\n", cpu_name(), thread_count()) +
         fmt::format(kRowFormat, "case", "kernel", "H", "G", "N", "D", "mask") +
         "  milliseconds  spread  GFLOP/s  of peak  MiB more\n";
}

std::string as_row(const AttentionTiming& timing) {
  const AttentionCase& problem = timing.problem;
  return fmt::format(kRowFormat, problem.name, timing.kernel, problem.heads, problem.kv_heads,
                     problem.query_length, problem.head_dim, mask_word(problem)) +
         fmt::format(
             "  {:>12.4f}  {:>5.1f}%  {:>7.1f}  {:>6.1f}%{}\n", timing.seconds * 1e3,
             timing.spread * 100, timing.gflops, timing.fraction_of_peak * 100,
             timing.peak_bytes < 0
                 ? std::string()
                 : fmt::format("  {:>8.1f}", static_cast<double>(timing.peak_bytes) / (1 << 20)));
}

std::string limits(const AttentionTiming& timing) {
  return fmt::format(
      "peak {:.1f} GFLOP/s of f32 multiply-adds beside the last case; reading memory {:.1f} GB/s\n",
      timing.peak_gflops, timing.read_gbytes_per_second);
}

int bench_pass(const BenchOptions& options, BenchPass pass) {
  const std::vector<AttentionCase> cases = choose_bench_cases(options.cases);
  AttentionTiming last;
  BenchTable table(options.json, names_of(cases), attention_heading());
  time_attention(cases, pass, options.kernel, [&](const AttentionTiming& timing) {
    table.add(timing.problem.name, timing.spread, as_row(timing), as_json(timing));
    last = timing;
  });
  table.finish(limits(last));
  return 0;
}

}  // namespace

int bench_attention(const BenchOptions& options) {
  return bench_pass(options, BenchPass::kForward);
}

int bench_backward(const BenchOptions& options) {
  return bench_pass(options, BenchPass::kBackward);
}

}  // namespace heed::cli
