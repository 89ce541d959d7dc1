// Dropout in f32: Philox on as many counters at once as a vector has lanes; all four words are
// used. Ten rounds of four 32 x 32 -> 64 bit products for four vectors of elements bound it.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/dropout.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include <algorithm>

#include "ops/kernels/blocks.h"
#include "ops/kernels/elementwise.h"
#include "simd/lanes-inl.h"
#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

using Words = hn::ScalableTag<std::uint32_t>;

// The words of the counters first, first + 1, ..., one counter per lane (no carry into the high
// half within a block), in the order of the elements.
#if HWY_TARGET == HWY_SCALAR
void words_of(std::uint64_t first, PhiloxKey key, std::uint32_t site, std::uint32_t* to) {
  const PhiloxCounter counter = {static_cast<std::uint32_t>(first),
                                 static_cast<std::uint32_t>(first >> 32), site, 0};
  std::ranges::copy(philox(counter, key), to);
}
#else
HWY_INLINE void words_of(std::uint64_t first, PhiloxKey key, std::uint32_t site,
                         std::uint32_t* to) {
  const Words words;
  PhiloxWords<Words> c = {hn::Iota(words, static_cast<std::uint32_t>(first)),
                          hn::Set(words, static_cast<std::uint32_t>(first >> 32)),
                          hn::Set(words, site), hn::Zero(words)};
  philox_rounds(words, key, c);
  hn::StoreInterleaved4(c.c0, c.c1, c.c2, c.c3, words, to);
}
#endif

// The elements at places [begin, end) of the whole that exist in x; `begin` is a multiple of 4
// times the lanes.
void dropout_part(const DropoutProblem<float>& p, std::int64_t begin, std::int64_t end) {
  const Words words;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(words));
  HWY_ALIGN std::uint32_t drawn[4 * HWY_MAX_BYTES / sizeof(std::uint32_t)];
  const auto threshold = hn::Set(words, p.threshold);
  const auto scale = hn::Set(Floats(), static_cast<float>(p.scale));
  if (begin < p.first) begin += (p.first - begin) / (4 * lanes) * (4 * lanes);
  for (std::int64_t place = begin; place < end; place += 4 * lanes) {
    words_of(static_cast<std::uint64_t>(place) >> 2, p.key, p.site, drawn);
    const std::int64_t skipped = std::max<std::int64_t>(p.first - place, 0);
    float* const x = p.x + (place + skipped - p.first);
    const auto* const of_x = reinterpret_cast<const float*>(drawn) + skipped;
    for_lanes(std::min(4 * lanes, end - place) - skipped, [&](auto load, auto store) HWY_ATTR {
      const auto falls =
          hn::RebindMask(Floats(), hn::Lt(hn::BitCast(words, load(of_x)), threshold));
      store(hn::IfThenZeroElse(falls, hn::Mul(load(x), scale)), x);
    });
  }
}

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {
HWY_EXPORT(dropout_part);
}  // namespace

void cpu::dropout(const DropoutProblem<float>& problem) {
  constexpr std::int64_t kElements = 16384;  // a multiple of four vectors of any width
  const std::int64_t base = problem.first / kElements * kElements;
  const std::int64_t count = problem.first + problem.count - base;
  in_blocks(count, kElements, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(dropout_part)(problem, base + begin, base + end);
  });
}

}  // namespace heed::kernels
#endif
