// Times the attention operator beside what the machine allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/masks/mask.h"
#include "heed/ops/scores.h"

namespace heed {

/// One problem to time: f32, as many keys as queries.
struct AttentionBenchCase {
  std::string name = {};
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t length = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  // 0: head_dim
  std::string mask_name = {};  // none, causal or window
  Mask mask = {};
  Similarity similarity = Similarity::kDot;
  Normaliser normaliser = Normaliser::kSoftmax;
  std::vector<std::int64_t> bias = {};  // its shape; empty: none
  double dropout = 0;
};

/// N 64 to 4096, D 64 and 128; causal; a window of 256 keys; grouped heads. At N 2048, 8 heads and
/// D 64 what other libraries leave their fast path for: dropout, a bias (the backward pass gives
/// its gradient), Dv != D, sigmoid, Gaussian.
std::vector<AttentionBenchCase> attention_bench_cases();

/// Those whose name is in `names` (all when empty); kNotFound for a name that no case has.
std::vector<AttentionBenchCase> choose_bench_cases(const std::vector<std::string>& names);

/// The backward pass alone, or the forward.
enum class BenchPass : std::uint8_t { kForward, kBackward };

struct AttentionTiming {
  AttentionBenchCase problem = {};
  std::string kernel;  // that ran
  int threads = 1;
  double seconds = 0;  // median
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double gflops = 0;   // of pairs that the mask allows: 2 (D + Dv) a pair
  double peak_gflops = 0;
  double fraction_of_peak = 0;
  double gbytes_per_second = 0;  // q, k, v read and out, lse written once
  double read_gbytes_per_second = 0;
  std::int64_t peak_bytes = -1;  // more than before, during the first run in this process, results
                                 // included; -1 where the system does not say
};

/// Runs the cases one after the other, after a warm-up each, with `kernel` ("": the best), and
/// measures the machine's limits beside each. `done` sees each timing as it is ready.
void time_attention(const std::vector<AttentionBenchCase>& cases, BenchPass pass,
                    const std::string& kernel,
                    const std::function<void(const AttentionTiming&)>& done);

}  // namespace heed
