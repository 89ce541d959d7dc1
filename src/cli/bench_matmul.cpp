// heed bench matmul: the products of linear layers, as training takes them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/bench_table.h"
#include "heed/base/cpu_name.h"
#include "heed/base/threads.h"
#include "heed/cases/matmul_bench.h"

namespace heed::cli {
namespace {

nlohmann::ordered_json as_json(const MatmulTiming& timing) {
  return {{"case", timing.problem.name},
          {"rows", timing.problem.rows},
          {"in", timing.problem.in},
          {"out", timing.problem.out},
          {"threads", timing.threads},
          {"seconds", timing.seconds},
          {"spread", timing.spread},
          {"gflops", timing.gflops},
          {"seconds_plain", timing.seconds_plain},
          {"gflops_plain", timing.gflops_plain},
          {"times_faster", timing.times_faster},
          {"relative_error", timing.relative_error},
          {"peak_gflops", timing.peak_gflops}};
}

std::string heading() {
  return fmt::format(
      "{}, threads: {}\n"
      "case              rows  milliseconds  spread  GFLOP/s    plain  times faster  error\n",
      cpu_name(), thread_count());
}

std::string as_row(const MatmulTiming& timing) {
  return fmt::format(
      "{:<17} {:>4}  {:>12.3f}  {:>5.1f}%  {:>7.1f}  {:>7.1f}  {:>12.2f}  {:>5.2f}\n",
      timing.problem.name, timing.problem.rows, timing.seconds * 1e3, timing.spread * 100,
      timing.gflops, timing.gflops_plain, timing.times_faster, timing.relative_error);
}

}  // namespace

int bench_matmul(const BenchOptions& options) {
  const std::vector<MatmulBenchCase> cases = matmul_bench_cases(options.cases);
  double peak = 0;
  BenchTable table(options.json, std::ssize(cases), heading());
  time_matmul(cases, [&](const MatmulTiming& timing) {
    table.add(timing.problem.name, timing.spread, as_row(timing), as_json(timing));
    peak = timing.peak_gflops;
  });
  table.finish(
      fmt::format("f32 multiply-adds {:.1f} GFLOP/s; plain: the same by oneDNN, as for a "
                  "token at a time; error: against f64, relative to the plain one's\n",
                  peak));
  return 0;
}

}  // namespace heed::cli
