#include "bench/matmul_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/choose_cases.h"
#include "bench/machine_limits.h"
#include "bench/normal.h"
#include "bench/repeat.h"
#include "heed/base/threads.h"
#include "kernels/matmul.h"
#include "ops/matmul.h"

namespace heed {
namespace {

using Product = MatmulBenchCase::Product;

struct Operands {
  explicit Operands(const MatmulBenchCase& c)
      : x(normal({c.rows, c.in}, DType::kF32, 1, 1)),
        dy(normal({c.rows, c.out}, DType::kF32, 1, 2)),
        weight(normal({c.in, c.out}, DType::kF32, 0.1, 3)),
        bias(normal({c.out}, DType::kF32, 0.1, 4)) {
    if (c.product == Product::kForward)
      args = {.a = x, .b = weight, .bias = bias};
    else if (c.product == Product::kInputGradient)
      args = {.a = dy, .b = weight.view().permute({1, 0})};
    else
      args = {.a = x.view().permute({1, 0}), .b = dy, .accumulate = true};
    result = Tensor::zeros({args.a.dim(0), args.b.dim(1)});
  }

  Tensor x, dy, weight, bias, result;
  MatmulArgs args;
};

Repeated time_product(Operands& operands, bool in_bulk) {
  operands.args.in_bulk = in_bulk;
  return repeat([&] { matmul(operands.args, operands.result); });
}

double rms_error(const MatmulArgs& args, const Tensor& exact) {
  const Tensor got = Tensor::converted(matmul(args), DType::kF64);
  double squares = 0;
  for (std::int64_t i = 0; i < got.element_count(); ++i)
    squares += std::pow(got.data<double>()[i] - exact.data<double>()[i], 2);
  return std::sqrt(squares);
}

// On some of the rows: f64 runs in plain loops.
double relative_error(const Operands& operands) {
  MatmulArgs args = operands.args;
  args.a = args.a.slice(0, 0, std::min<std::int64_t>(64, args.a.dim(0)));
  args.bias = {};
  args.accumulate = false;
  const Tensor exact = matmul(
      {.a = Tensor::converted(args.a, DType::kF64), .b = Tensor::converted(args.b, DType::kF64)});
  args.in_bulk = false;
  const double plain = rms_error(args, exact);
  args.in_bulk = true;
  return rms_error(args, exact) / plain;
}

MatmulTiming timed(const MatmulBenchCase& problem) {
  Operands operands(problem);
  const Repeated in_bulk = time_product(operands, true);
  const Repeated plain = time_product(operands, false);
  const double gflop = 2e-9 * static_cast<double>(problem.rows * problem.in * problem.out);
  return {.problem = problem,
          .kernel = kernels::has_amx() ? "cpu-amx" : kernels::matmul_kernel_name(),
          .threads = thread_count(),
          .seconds = in_bulk.seconds,
          .spread = std::max(in_bulk.spread, plain.spread),
          .gflops = gflop / in_bulk.seconds,
          .seconds_plain = plain.seconds,
          .gflops_plain = gflop / plain.seconds,
          .times_faster = plain.seconds / in_bulk.seconds,
          .relative_error = relative_error(operands),
          .peak_gflops = peak_gflops(thread_count())};
}

std::vector<MatmulBenchCase> all_cases() {
  struct Layer {
    std::int64_t rows, in, out;
  };
  std::vector<MatmulBenchCase> cases;
  for (const auto& [rows, in, out] :
       {Layer{384, 128, 384}, Layer{384, 128, 128}, Layer{384, 128, 512}, Layer{384, 512, 128},
        Layer{512, 768, 3072}})
    for (const auto& [name, product] : {std::pair{"forward", Product::kForward},
                                        {"dinput", Product::kInputGradient},
                                        {"dweight", Product::kWeightGradient}})
      cases.push_back({fmt::format("{}-{}x{}", name, in, out), product, rows, in, out});
  return cases;
}

}  // namespace

std::vector<MatmulBenchCase> matmul_bench_cases(const std::vector<std::string>& names) {
  return choose_cases(all_cases(), names);
}

void time_matmul(const std::vector<MatmulBenchCase>& cases,
                 const std::function<void(const MatmulTiming&)>& done) {
  for (const MatmulBenchCase& problem : cases) done(timed(problem));
}

}  // namespace heed
