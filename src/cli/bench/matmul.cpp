// heed bench matmul: the products of linear layers, in inference and training.
#include <fmt/format.h>

#include <string>

#include "base/formats/json.h"
#include "base/machine.h"
#include "bench/matmul_bench.h"
#include "cli/bench/bench.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

Json as_json(const MatmulTiming& timing) {
  const MatmulBenchCase& problem = timing.problem;
  JsonFields fields = {{{"case", problem.name},
                        {"kernel", timing.kernel},
                        {"dtype", std::string(problem.weight_type())}}};
  HEED_FIELDS(fields, problem.rows, problem.in, problem.out, timing.threads, timing.warm.seconds,
              timing.warm.spread, timing.warm.gflops, timing.warm.limit_gflops);
  Json& json = fields.json;
  if (problem.product == MatmulBenchCase::Product::kPacked) {
    json.set("memory_seconds", timing.from_memory.seconds);
    json.set("memory_gflops", timing.from_memory.gflops);
    json.set("memory_limit_gflops", timing.from_memory.limit_gflops);
    HEED_FIELDS(fields, timing.gbytes_per_second, timing.read_gbytes_per_second);
  } else {
    json.set("seconds_plain", timing.plain.seconds);
    json.set("gflops_plain", timing.plain.gflops);
    json.set("times_faster", timing.plain.seconds / timing.warm.seconds);
    json.set("relative_error", timing.relative_error);
  }
  return json;
}

constexpr const char* kMatmulColumns =
    "{:<19} {:<15} {:>5}  {:>12}  {:>6}  {:>7}  {:>8}  {:>11}  {:>8}  {:>5}\n";

std::string matmul_heading() {
  return fmt::format("{}, threads: {}\n", cpu_name(), thread_count()) +
         fmt::format(kMatmulColumns, "case", "kernel", "rows", "milliseconds", "spread", "GFLOP/s",
                     "of limit", "from memory", "of limit", "GB/s");
}

std::string number(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string share(const MatmulRate& rate) {
  return rate.limit_gflops > 0 ? number(rate.gflops / rate.limit_gflops * 100, 1) + "%" : "";
}

std::string as_row(const MatmulTiming& timing) {
  const bool has_memory = timing.from_memory.gflops > 0;
  return fmt::format(kMatmulColumns, timing.problem.name, timing.kernel, timing.problem.rows,
                     number(timing.warm.seconds * 1e3, 3),
                     number(timing.warm.spread * 100, 1) + "%", number(timing.warm.gflops, 1),
                     share(timing.warm), has_memory ? number(timing.from_memory.gflops, 1) : "",
                     share(timing.from_memory),
                     has_memory ? number(timing.gbytes_per_second, 1) : "");
}

}  // namespace

int bench_matmul(const BenchOptions& options) {
  const std::vector<MatmulBenchCase> cases = matmul_bench_cases(options.cases);
  BenchTable table(options.json, names_of(cases), matmul_heading());
  time_matmul(cases, [&](const MatmulTiming& timing) {
    table.add(timing.problem.name, timing.warm.spread, as_row(timing), as_json(timing));
  });
  table.finish(
      "INxOUT-rROWS-TYPE: x W + b over packed weights, bf16 in bulk from 512 rows on; from memory: "
      "weights that no cache holds; -q8: rows rounded to bytes, beside the limit of f32\n"
      "forward: x W + b; dinput: dy W^T; dweight: dW += x^T dy, f32, plain weights, in bulk\n"
      "limit: multiply-adds, or reading weights from where they lie, measured beside each case\n");
  return 0;
}

}  // namespace heed::cli
