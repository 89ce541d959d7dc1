// Sums in f32, bound by the caches, and dropout.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/elementwise.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include "ops/kernels/elementwise.h"

#include <algorithm>

#include "ops/kernels/blocks.h"
#include "simd/lanes-inl.h"
#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {
namespace {

void add_part(float* y, const float* x, std::int64_t count) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR { store(hn::Add(load(y), load(x)), y); });
}

constexpr std::int64_t kBlockRows = 128;

// Sums blocks of rows before adding them to the total, which keeps long sums precise.
HWY_INLINE void column_sums_of_lanes(float* sums, const float* x, std::int64_t rows,
                                     std::int64_t stride, std::int64_t count) {
  for_lanes(count, [&](auto load, auto store) HWY_ATTR {
    auto total = load(sums);
    for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) {
      auto block = hn::Zero(Floats());
      const std::int64_t end = std::min(rows, begin + kBlockRows);
      for (std::int64_t row = begin; row < end; ++row)
        block = hn::Add(block, load(x + row * stride));
      total = hn::Add(total, block);
    }
    store(total, sums);
  });
}

// Four vectors at once: a single one waits four cycles per row for its own sum.
void column_sums_part(float* sums, const float* x, std::int64_t rows, std::int64_t stride,
                      std::int64_t count) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t c = 0;
  for (; c + 4 * lanes <= count; c += 4 * lanes) {
    for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) {
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      const std::int64_t end = std::min(rows, begin + kBlockRows);
      for (std::int64_t row = begin; row < end; ++row) {
        const float* const from = x + row * stride + c;
        s0 = hn::Add(s0, hn::LoadU(d, from));
        s1 = hn::Add(s1, hn::LoadU(d, from + lanes));
        s2 = hn::Add(s2, hn::LoadU(d, from + 2 * lanes));
        s3 = hn::Add(s3, hn::LoadU(d, from + 3 * lanes));
      }
      float* const to = sums + c;
      hn::StoreU(hn::Add(hn::LoadU(d, to), s0), d, to);
      hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), s1), d, to + lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, to + 2 * lanes), s2), d, to + 2 * lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, to + 3 * lanes), s3), d, to + 3 * lanes);
    }
  }
  column_sums_of_lanes(sums + c, x + c, rows, stride, count - c);
}

// Dropout in f32: Philox on as many counters at once as a vector has lanes; all four words are
// used. Ten rounds of four 32 x 32 -> 64 bit products for four vectors of elements bound it.

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

HWY_EXPORT(add_part);
HWY_EXPORT(column_sums_part);
HWY_EXPORT(dropout_part);

}  // namespace

void cpu::add_to(float* y, const float* x, std::int64_t count) {
  constexpr std::int64_t kElements = 32768;
  in_blocks(count, kElements, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_part)(y + begin, x + begin, end - begin);
  });
}

void cpu::add_column_sums(float* sums, const float* x, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kColumns = 64;  // a task owns its columns, so nothing is merged
  in_blocks(columns, kColumns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sums_part)(sums + begin, x + begin, rows, columns, end - begin);
  });
}

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
