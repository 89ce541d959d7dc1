// Times the products of linear layers: with packed weights, as a model runs them, and with plain
// weights, as in training.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tensor.h"
#include "tensor/block_type.h"

namespace heed {

/// A layer of `in` inputs and `out` outputs on `rows` rows.
struct MatmulBenchCase {
  enum class Product : std::uint8_t { kPacked, kForward, kInputGradient, kWeightGradient };

  std::string name = {};
  Product product = Product::kForward;  // x W + b; or x W + b, dy W^T, dW += x^T dy in bulk
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType dtype = DType::kF32;          // of the weights
  const BlockType* blocks = nullptr;  // set: they are quantised in blocks
  bool by_bytes = false;              // of these: rows are rounded to bytes

  std::string_view weight_type() const {
    return blocks != nullptr ? blocks->name : heed::name(dtype);
  }
  /// Size of all weights in a file, in bytes.
  std::int64_t weight_bytes() const {
    return blocks != nullptr ? blocks->bytes_of(in * out)
                             : in * out * static_cast<std::int64_t>(size_bytes(dtype));
  }
};

/// INxOUT-rROWS-TYPE: every linear layer of GPT-2 small, of a Llama of 110 M and of one of 1.1 B
/// parameters (TinyLlama's shape), on 1, 8 and 512 rows in f32, bf16, f16, Q4_0, Q8_0, Q4_K, Q6_K,
/// IQ4_NL and MXFP4; -q8: with rows rounded to bytes.
/// PRODUCT-INxOUT for forward, dinput and dweight: the layers of the reference run's blocks on 384
/// rows, and one of GPT-2 small's on 512. Only those whose name is in `names`, unless it is empty;
/// kNotFound for an unknown name.
std::vector<MatmulBenchCase> matmul_bench_cases(const std::vector<std::string>& names = {});

/// A rate, and the machine's limit.
struct MatmulRate {
  double seconds = 0;  // median
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double gflops = 0;
  double limit_gflops = 0;  // multiply-adds, or the rate of reading weights times FLOP per byte if
                            // that is less
};

struct MatmulTiming {
  MatmulBenchCase problem = {};
  std::string kernel;
  int threads = 1;
  MatmulRate warm;               // the same weights repeatedly
  MatmulRate from_memory;        // packed: different weights each time, which no cache holds
  double gbytes_per_second = 0;  // of weights, from memory
  double read_gbytes_per_second = 0;
  MatmulRate plain;           // not packed: the same without in_bulk
  double relative_error = 0;  // not packed: RMS error against f64, some rows, relative to plain's
};

/// Runs the cases in order; `done` receives each timing as it is ready.
void time_matmul(const std::vector<MatmulBenchCase>& cases,
                 const std::function<void(const MatmulTiming&)>& done);

}  // namespace heed
