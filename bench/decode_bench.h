// Times attention's part of generating one token, by form of the key/value cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/generate.h"

namespace heed {

/// One token of one text: its key and value enter the cache, and its query of 32 heads over 8
/// key/value heads of size 128 attends to `keys` keys, including its own; f32 queries.
struct DecodeBenchCase {
  std::string name = {};
  std::int64_t keys = 0;
  KvCacheOptions cache = {};  // for a ring, `left` is keys - 1: it has already wrapped around
};

inline constexpr std::int64_t kDecodeHeads = 32;
inline constexpr std::int64_t kDecodeKvHeads = 8;
inline constexpr std::int64_t kDecodeHeadDim = 128;

/// kN-FORM for N in 1,024 and 8,192 and FORM in f32, f16, bf16, i8, paged and ring (of f32); only
/// those whose name is in `names`, unless it is empty. kNotFound for an unknown name.
std::vector<DecodeBenchCase> decode_bench_cases(const std::vector<std::string>& names = {});

struct DecodeTiming {
  DecodeBenchCase problem = {};
  std::string kernel;  // the kernel that ran
  int threads = 1;
  double seconds = 0;  // median, for one token in one layer
  double spread = 0;   // of the middle half of the repetitions, relative to the median
  double tokens_per_second = 0;
  double gbytes_per_second = 0;  // keys, values and scales read, q read and out written once
  double read_gbytes_per_second = 0;
  double times_faster = 0;  // than contiguous f32 with as many keys, timed in the same run
};

/// Runs the cases in order with `kernel` ("": the best). Each step uses another layer than the one
/// before; there are enough layers to exceed every cache. `done` receives each timing as it is
/// ready.
void time_decode(const std::vector<DecodeBenchCase>& cases, const std::string& kernel,
                 const std::function<void(const DecodeTiming&)>& done);

}  // namespace heed
