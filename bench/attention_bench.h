// Times the attention operator beside what the machine allows.
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

/// Those whose name is in `names` (all when empty); kNotFound for a name that no case has.
std::vector<AttentionCase> choose_bench_cases(const std::vector<std::string>& names);

/// The case as `--json` writes it: its name, sizes, mask and scores.
Json as_json(const AttentionCase& problem);

/// The backward pass alone, or the forward.
enum class BenchPass : std::uint8_t { kForward, kBackward };

/// Another library's time for the same case.
struct PeerTiming {
  std::string name;
  double seconds = 0;  // median
  double spread = 0;   // as AttentionTiming has it
  std::int64_t peak_bytes = -1;
};

struct AttentionTiming {
  AttentionCase problem = {};
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
  std::vector<PeerTiming> peers = {};
};

/// Runs the cases one after the other, after a warm-up each, with `kernel` ("": the best), and
/// measures the machine's limits beside each. With `peers`, heed and those of them that can compute
/// the case take turns. `done` sees each timing as it is ready.
void time_attention(const std::vector<AttentionCase>& cases, BenchPass pass,
                    const std::string& kernel, PeerProcess* peers,
                    const std::function<void(const AttentionTiming&)>& done);

}  // namespace heed
