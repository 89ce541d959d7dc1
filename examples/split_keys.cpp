// Causal attention over keys in two parts, merged: the same as over all keys.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "heed/heed.h"  // IWYU pragma: keep

heed::Tensor some_numbers(const heed::Shape& shape, float first) {
  heed::Tensor made = heed::Tensor::empty(shape);
  for (std::int64_t i = 0; i < made.element_count(); ++i)
    made.data<float>()[i] = std::sin(first + static_cast<float>(i * i % 1000));
  return made;
}

int main() {
  constexpr std::int64_t kQueries = 20, kKeys = 80, kCut = 37;
  const heed::Tensor q = some_numbers({1, 2, kQueries, 16}, 1);
  const heed::Tensor k = some_numbers({1, 2, kKeys, 16}, 2), v = some_numbers({1, 2, kKeys, 16}, 3);
  const heed::AttentionArgs whole = {.q = q, .keys = {k, v}, .mask = heed::Mask::causal()};

  const auto part = [&](std::int64_t begin, std::int64_t end) {
    heed::AttentionArgs args = whole;
    args.keys = {k.view().slice(2, begin, end), v.view().slice(2, begin, end)};
    args.extents.q_offset = {kKeys - kQueries};  // position of the whole's query 0
    args.extents.key_offset = {begin};           // position of the part's key 0
    return heed::attention(args);
  };
  const heed::Attended merged = heed::merge(part(0, kCut), part(kCut, kKeys));

  const heed::Attended expected = heed::attention(whole);
  float worst = 0;
  for (std::int64_t i = 0; i < merged.out.element_count(); ++i)
    worst = std::max(worst, std::abs(merged.out.data<float>()[i] - expected.out.data<float>()[i]));
  std::printf("differs by %.5f\n", worst);
}
