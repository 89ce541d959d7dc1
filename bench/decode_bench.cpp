#include "bench/decode_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "bench/attention_cases.h"
#include "bench/choose_cases.h"
#include "bench/machine_limits.h"
#include "bench/measure.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/threads.h"

namespace heed {
namespace {

constexpr std::int64_t kBytesOfLayers = std::int64_t{256} << 20;  // more than a cache can hold
constexpr std::int64_t kFillTokens = 64;                          // per pass

KvCacheShape shape_of(const DecodeBenchCase& problem) {
  const std::int64_t bytes = 2 * problem.keys * kDecodeKvHeads * kDecodeHeadDim *
                             static_cast<std::int64_t>(size_bytes(problem.cache.dtype));
  return {.layers = (kBytesOfLayers + bytes - 1) / bytes,
          .batch = 1,
          .kv_heads = kDecodeKvHeads,
          .capacity = problem.keys,
          .head_dim = kDecodeHeadDim,
          .value_dim = kDecodeHeadDim};
}

// A text whose next token is timed.
class Text {
 public:
  explicit Text(const DecodeBenchCase& problem)
      : cache_(shape_of(problem), problem.cache),
        q_(normal({1, kDecodeHeads, 1, kDecodeHeadDim}, DType::kF32, 1, 1)),
        k_(normal({1, kDecodeKvHeads, kFillTokens, kDecodeHeadDim}, DType::kF32, 1, 2)),
        v_(normal({1, kDecodeKvHeads, kFillTokens, kDecodeHeadDim}, DType::kF32, 1, 3)) {
    const bool ring = problem.cache.form == KvForm::kRing;
    const std::int64_t tokens = ring ? problem.keys * 3 / 2 : problem.keys - 1;
    for (std::int64_t held = 0; held < tokens; held = cache_.lengths()[0])
      fill(std::min(ring ? 1 : kFillTokens, tokens - held));
  }

  // Like a layer: appends the token's key and value, then its query attends. The cache does not
  // advance, so every step is the same token's.
  void step() {
    layer_ = (layer_ + 1) % static_cast<int>(cache_.shape().layers);
    append(layer_, 1);
    attention(args());
  }

  AttentionArgs args() const {
    return {.q = q_,
            .keys = cache_.keys(layer_),
            .extents = cache_.extents(std::array<std::int64_t, 1>{1}),
            .mask = Mask::causal(),
            .kernel = kernel};
  }

  std::string kernel;

 private:
  void append(int layer, std::int64_t count) {
    cache_.append(layer, {k_.view().slice(2, 0, count), v_.view().slice(2, 0, count)},
                  std::array{count});
  }

  void fill(std::int64_t count) {
    for (int layer = 0; layer < cache_.shape().layers; ++layer) append(layer, count);
    cache_.advance(std::array{count});
  }

  KvCache cache_;
  Tensor q_, k_, v_;
  int layer_ = 0;
};

DecodeTiming timed(const DecodeBenchCase& problem, const std::string& kernel) {
  Text text(problem);
  text.kernel = kernel;
  text.step();  // allocates pages
  const Plan plan = plan_attention(text.args());
  const Repeated times = repeat([&] { text.step(); });
  return {.problem = problem,
          .kernel = plan.kernel,
          .threads = thread_count(),
          .seconds = times.seconds,
          .spread = times.spread,
          .tokens_per_second = 1 / times.seconds,
          .gbytes_per_second = plan.bytes / times.seconds * 1e-9};
}

KvCacheOptions plain(DType dtype) { return {.dtype = dtype}; }

}  // namespace

std::vector<DecodeBenchCase> decode_bench_cases(const std::vector<std::string>& names) {
  std::vector<DecodeBenchCase> cases;
  for (const std::int64_t keys : {1024, 8192}) {
    const std::pair<const char*, KvCacheOptions> forms[] = {
        {"f32", plain(DType::kF32)},         {"f16", plain(DType::kF16)},
        {"bf16", plain(DType::kBF16)},       {"i8", plain(DType::kI8)},
        {"paged", {.form = KvForm::kPaged}}, {"ring", {.form = KvForm::kRing, .left = keys - 1}}};
    for (const auto& [form, options] : forms)
      cases.push_back({fmt::format("k{}-{}", keys, form), keys, options});
  }
  return choose_cases(cases, names);
}

void time_decode(const std::vector<DecodeBenchCase>& cases, const std::string& kernel,
                 const std::function<void(const DecodeTiming&)>& done) {
  const double read = read_gbytes_per_second(thread_count());
  std::map<std::int64_t, double> plain_seconds;  // by keys
  for (const DecodeBenchCase& problem : cases) {
    const bool is_plain =
        problem.cache.dtype == DType::kF32 && problem.cache.form == KvForm::kContiguous;
    if (!is_plain && !plain_seconds.contains(problem.keys))
      plain_seconds[problem.keys] = timed({.keys = problem.keys}, kernel).seconds;
    DecodeTiming timing = timed(problem, kernel);
    if (is_plain) plain_seconds[problem.keys] = timing.seconds;
    timing.times_faster = plain_seconds[problem.keys] / timing.seconds;
    timing.read_gbytes_per_second = read;
    done(timing);
  }
}

}  // namespace heed
