// Times the products of linear layers in bulk, as training takes them, beside plain ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed {

/// Of a layer of `in` inputs and `out` outputs on `rows` rows.
struct MatmulBenchCase {
  enum class Product : std::uint8_t { kForward, kInputGradient, kWeightGradient };

  std::string name = {};
  Product product = Product::kForward;  // x W + b, dy W^T, or dW += x^T dy
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

/// PRODUCT-INxOUT for forward, dinput and dweight: the layers of the reference run's blocks on 384
/// rows, and one of GPT-2 small's on 512; only those whose name is in `names`, unless it is empty.
/// kNotFound for a name that no case has.
std::vector<MatmulBenchCase> matmul_bench_cases(const std::vector<std::string>& names = {});

struct MatmulTiming {
  MatmulBenchCase problem = {};
  std::string kernel;  // in bulk
  int threads = 1;
  double seconds = 0;  // median, in bulk
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double gflops = 0;
  double seconds_plain = 0;  // median of the same product with in_bulk off
  double gflops_plain = 0;
  double times_faster = 0;
  double relative_error = 0;  // root mean square against f64, of some rows, relative to plain
  double peak_gflops = 0;     // f32 multiply-adds, measured
};

/// Runs the cases one after the other; `done` sees each timing as it is ready.
void time_matmul(const std::vector<MatmulBenchCase>& cases,
                 const std::function<void(const MatmulTiming&)>& done);

}  // namespace heed
