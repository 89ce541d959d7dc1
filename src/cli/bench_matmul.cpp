// heed bench matmul: the products of linear layers, as training takes them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/output.h"
#include "cli/progress.h"
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
          {"seconds_by_rows", timing.seconds_by_rows},
          {"gflops_by_rows", timing.gflops_by_rows},
          {"times_faster", timing.times_faster},
          {"relative_error", timing.relative_error},
          {"peak_gflops", timing.peak_gflops}};
}

std::string heading() {
  return fmt::format(
      "{}, threads: {}\n"
      "case              rows  milliseconds  spread  GFLOP/s  by rows  times faster  error\n",
      cpu_name(), thread_count());
}

std::string as_row(const MatmulTiming& timing) {
  return fmt::format(
      "{:<17} {:>4}  {:>12.3f}  {:>5.1f}%  {:>7.1f}  {:>7.1f}  {:>12.2f}  {:>5.2f}\n",
      timing.problem.name, timing.problem.rows, timing.seconds * 1e3, timing.spread * 100,
      timing.gflops, timing.gflops_by_rows, timing.times_faster, timing.relative_error);
}

}  // namespace

int bench_matmul(const BenchOptions& options) {
  const std::vector<MatmulBenchCase> cases = matmul_bench_cases(options.cases);
  auto list = nlohmann::ordered_json::array();
  double peak = 0;
  if (!options.json) print(heading());
  ProgressLine progress;
  Steadiness steadiness;
  progress.begin("cases", std::ssize(cases));
  time_matmul(cases, [&](const MatmulTiming& timing) {
    if (options.json)
      list.push_back(as_json(timing));
    else
      progress.aside([&] { print(as_row(timing)); });
    progress.advance();
    steadiness.saw(timing.problem.name, timing.spread);
    peak = timing.peak_gflops;
  });
  progress.begin("");
  print(options.json ? list.dump(2) + "\n"
                     : fmt::format("f32 multiply-adds {:.1f} GFLOP/s; by rows: the product whose "
                                   "rows keep their bits in any company; error: against f64, "
                                   "relative to that one's\n",
                                   peak));
  steadiness.report();
  return 0;
}

}  // namespace heed::cli
