// Sums in f32, bound by the caches.
// clang-format off: the target loop comes first
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/kernels/add.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// clang-format on

#include <algorithm>

#include "ops/kernels/blocks.h"
#include "ops/kernels/elementwise.h"
#include "simd/lanes-inl.h"

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

}  // namespace
}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {
namespace {

HWY_EXPORT(add_part);
HWY_EXPORT(column_sums_part);

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

}  // namespace heed::kernels
#endif
