#include "bench/matmul_bench.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/attention_cases.h"
#include "bench/machine_limits.h"
#include "bench/measure.h"
#include "heed/threads.h"
#include "ops/kernels/matmul.h"
#include "ops/matmul.h"
#include "ops/packed_matrix.h"

namespace heed {
namespace {

using Product = MatmulBenchCase::Product;

struct Limits {
  double f32_gflops, pair_gflops, read_gbytes_per_second;
};

struct MatmulOperands {
  explicit MatmulOperands(const MatmulBenchCase& c)
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

double gflop(const MatmulBenchCase& c) { return 2e-9 * static_cast<double>(c.rows * c.in * c.out); }

MatmulRate rate(const MatmulBenchCase& c, const Repeated& times, double limit) {
  return {.seconds = times.seconds,
          .spread = times.spread,
          .gflops = gflop(c) / times.seconds,
          .limit_gflops = limit};
}

MatmulRate time_plain(const MatmulBenchCase& c, MatmulOperands& operands, bool in_bulk,
                      double limit) {
  operands.args.in_bulk = in_bulk;
  return rate(c, repeat([&] { matmul(operands.args, operands.result); }), limit);
}

double rms_error(const MatmulArgs& args, const Tensor& exact) {
  const Tensor got = Tensor::converted(matmul(args), DType::kF64);
  double squares = 0;
  for (std::int64_t i = 0; i < got.element_count(); ++i)
    squares += std::pow(got.data<double>()[i] - exact.data<double>()[i], 2);
  return std::sqrt(squares);
}

// For some of the rows, because f64 runs in plain loops.
double relative_error(const MatmulOperands& operands) {
  MatmulArgs args = operands.args;
  args.a = args.a.slice(0, 0, std::min<std::int64_t>(64, args.a.dim(0)));
  args.bias = {};
  args.accumulate = false;
  const Tensor a = Tensor::converted(args.a, DType::kF64);
  const Tensor b = Tensor::converted(args.b, DType::kF64);
  const Tensor exact = matmul({.a = a, .b = b});
  args.in_bulk = false;
  const double plain = rms_error(args, exact);
  args.in_bulk = true;
  return rms_error(args, exact) / plain;
}

MatmulTiming timed_plain(const MatmulBenchCase& c, const Limits& limits) {
  MatmulOperands operands(c);
  return {.problem = c,
          .kernel = kernels::has_amx() ? "cpu-amx" : kernels::matmul_kernel_name(),
          .threads = thread_count(),
          .warm = time_plain(c, operands, true, limits.f32_gflops),
          .from_memory = {},
          .plain = time_plain(c, operands, false, limits.f32_gflops),
          .relative_error = relative_error(operands)};
}

// Random bits, because making normal numbers would take minutes.
void fill(const View& weights, std::int64_t bytes, std::uint32_t kept, std::uint32_t set) {
  auto* to = static_cast<std::uint32_t*>(weights.raw());
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < bytes / 4; ++i) {
    state = state * 1664525U + 1013904223U;
    to[i] = (state & kept) | set;
  }
}

Tensor quick_weights(const MatmulBenchCase& c) {
  if (c.blocks != nullptr) {
    Tensor rows = Tensor::empty({c.out, c.blocks->bytes_of(c.in)}, DType::kU8);
    fill(rows, c.weight_bytes(), 0xBFFFBFFFU, 0);  // each half of a word is an f16 below 2
    return rows;
  }
  Tensor weights = Tensor::empty({c.in, c.out}, c.dtype);
  // Numbers of every type, between 1/2 and 2 in f32 and bf16.
  fill(weights, c.weight_bytes(), 0x80FF80FFU, 0x3F003F00U);
  return weights;
}

// Copies of the weights, enough to exceed every cache.
std::vector<PackedMatrix> copies_of(const MatmulBenchCase& c) {
  constexpr std::int64_t kBytes = std::int64_t{400} << 20;
  const Tensor weights = quick_weights(c);
  std::vector<PackedMatrix> copies;
  for (std::int64_t held = 0; held < kBytes; held += c.weight_bytes())
    copies.push_back(c.blocks == nullptr ? PackedMatrix(weights)
                     : c.by_bytes        ? PackedMatrix(*c.blocks, weights).multiplied_by_bytes()
                                         : PackedMatrix(*c.blocks, weights));
  return copies;
}

MatmulTiming timed_packed(const MatmulBenchCase& c, const Limits& limits) {
  const std::vector<PackedMatrix> weights = copies_of(c);
  const Tensor x = normal({c.rows, c.in}, DType::kF32, 1, 1);
  const Tensor bias = normal({c.out}, DType::kF32, 0.1, 4);
  Tensor result = Tensor::zeros({c.rows, c.out});
  const bool in_bulk = c.rows > 8;
  const bool pairs = in_bulk && c.dtype == DType::kBF16 && kernels::has_fast_pairs();
  const auto multiply = [&](const PackedMatrix& w) {
    matmul({.a = x, .b = w, .bias = bias, .in_bulk = in_bulk}, result);
  };
  std::size_t next = 0;
  const Repeated warm = repeat([&] { multiply(weights.front()); });
  const Repeated cold = repeat([&] { multiply(weights[next++ % weights.size()]); });
  const auto bytes = static_cast<double>(c.weight_bytes());
  const double arithmetic = pairs ? limits.pair_gflops : limits.f32_gflops;
  const double gflop_of_gbyte = gflop(c) * 1e9 / bytes;
  const double cache =
      warm_read_gbytes_per_second(thread_count(), static_cast<std::int64_t>(bytes)) *
      gflop_of_gbyte;
  const double memory = limits.read_gbytes_per_second * gflop_of_gbyte;
  return {.problem = c,
          .kernel = std::string(kernels::matmul_kernel_name()) + (pairs ? "-bf16" : ""),
          .threads = thread_count(),
          .warm = rate(c, warm, std::min(arithmetic, cache)),
          .from_memory = rate(c, cold, std::min(arithmetic, memory)),
          .gbytes_per_second = bytes / cold.seconds * 1e-9,
          .read_gbytes_per_second = limits.read_gbytes_per_second,
          .plain = {}};
}

}  // namespace

void time_matmul(const std::vector<MatmulBenchCase>& cases,
                 const std::function<void(const MatmulTiming&)>& done) {
  const MatmulBenchCase* before = nullptr;
  Limits limits = {};
  for (const MatmulBenchCase& c : cases) {
    // With each case, because the clock of a shared machine changes within seconds. Memory's rate
    // takes longer to measure: with each shape.
    limits.f32_gflops = peak_gflops(thread_count());
    limits.pair_gflops = peak_pair_gflops(thread_count());
    if (before == nullptr || before->in != c.in || before->out != c.out)
      limits.read_gbytes_per_second = read_gbytes_per_second(thread_count());
    before = &c;
    done(c.product == Product::kPacked ? timed_packed(c, limits) : timed_plain(c, limits));
  }
}

}  // namespace heed
