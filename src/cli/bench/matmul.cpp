// heed bench matmul: the products of linear layers, as training takes them.
#include <fmt/format.h>

#include "base/cpu_name.h"
#include "base/json.h"
#include "bench/matmul_bench.h"
#include "cli/bench/bench.h"
#include "cli/bench/table.h"
#include "heed/base/threads.h"

namespace heed::cli {
namespace {

Json as_json(const MatmulTiming& timing) {
  return {{"case", timing.problem.name},
          {"kernel", timing.kernel},
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

constexpr const char* kColumns = "{:<17} {:<7} {:>4}  {:>12}  {:>6}  {:>7}  {:>7}  {:>12}  {:>5}\n";

std::string heading() {
  return fmt::format("{}, threads: {}\n", cpu_name(), thread_count()) +
         fmt::format(kColumns, "case", "kernel", "rows", "milliseconds", "spread", "GFLOP/s",
                     "plain", "times faster", "error");
}

std::string as_row(const MatmulTiming& timing) {
  const auto number = [](double value, int digits) {
    return fmt::format("{:.{}f}", value, digits);
  };
  return fmt::format(kColumns, timing.problem.name, timing.kernel, timing.problem.rows,
                     number(timing.seconds * 1e3, 3), number(timing.spread * 100, 1) + "%",
                     number(timing.gflops, 1), number(timing.gflops_plain, 1),
                     number(timing.times_faster, 2), number(timing.relative_error, 2));
}

}  // namespace

int bench_matmul(const BenchOptions& options) {
  const std::vector<MatmulBenchCase> cases = matmul_bench_cases(options.cases);
  double peak = 0;
  BenchTable table(options.json, names_of(cases), heading());
  time_matmul(cases, [&](const MatmulTiming& timing) {
    table.add(timing.problem.name, timing.spread, as_row(timing), as_json(timing));
    peak = timing.peak_gflops;
  });
  table.finish(fmt::format(
      "forward: x W + b; dinput: dy W^T; dweight: dW += x^T dy; IN x OUT\n"
      "plain: GFLOP/s of the same without AMX; error: against f64, relative to the plain one's (less "
      "is better)\nf32 multiply-adds {:.1f} GFLOP/s\n",
      peak));
  return 0;
}

}  // namespace heed::cli
