// Times the attention operator and compares it with the machine's limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "bench/attention_cases.h"
#include "bench/peer_process.h"

namespace heed {

/// The problems to time, as many keys as queries, 8 heads (4 from N = 4096, 1 from 16384):
/// plain and causal of N 16 to 16384 at D 64 and 128, of D 32 to 256 at N 1024, and in f16 and
/// bf16; windows of 256 keys and grouped heads; at N 2048 and D 64 every form of a score, masks
/// of every kind, and Dv != D. A name is kind-nN-dD, with its type before it where it is not f32.
std::vector<AttentionCase> attention_bench_cases();

/// none, causal, window, keep, prefix, segments, blocks or edges.
std::string_view mask_word(const AttentionCase& problem);

/// The cases whose name is in `names` (all if empty); kNotFound for an unknown name.
std::vector<AttentionCase> choose_bench_cases(const std::vector<std::string>& names);

/// The case in the form of `--json`: its name, sizes, mask and scores.
Json as_json(const AttentionCase& problem);

/// Only the backward pass, or only the forward pass.
enum class BenchPass : std::uint8_t { kForward, kBackward };

/// Another library's time for the same case.
struct PeerTiming {
  std::string name;
  double seconds = 0;  // median
  double spread = 0;   // as in AttentionTiming
  std::int64_t peak_bytes = -1;
};

struct AttentionTiming {
  AttentionCase problem = {};
  std::string kernel;  // the kernel that ran
  int threads = 1;
  double seconds = 0;  // median
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double gflops = 0;   // for allowed pairs: 2 (D + Dv) per pair
  double peak_gflops = 0;
  double fraction_of_peak = 0;
  double gbytes_per_second = 0;  // q, k, v read and out, lse written once
  double read_gbytes_per_second = 0;
  std::int64_t peak_bytes = -1;  // additional memory during the first run in this process, results
                                 // included; -1 if the system does not report it
  std::vector<PeerTiming> peers = {};
};

/// Runs the cases in order, each after a warm-up, with `kernel` ("": the best), and measures the
/// machine's limits with each. With `peers`, heed and the peers that support the case alternate.
/// `done` receives each timing as it is ready.
void time_attention(const std::vector<AttentionCase>& cases, BenchPass pass,
                    const std::string& kernel, PeerProcess* peers,
                    const std::function<void(const AttentionTiming&)>& done);

}  // namespace heed
