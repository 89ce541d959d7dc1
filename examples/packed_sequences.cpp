// Two texts of 2 and 3 tokens, packed without padding.
#include <cmath>
#include <cstdio>

#include "heed/heed.h"  // IWYU pragma: keep

int main() {
  constexpr std::int64_t kHeads = 2, kTotal = 5, kSize = 4;
  const heed::Tensor q = heed::Tensor::zeros({kHeads, kTotal, kSize});  // so weights are even
  heed::Tensor v = heed::Tensor::zeros(q.shape());
  for (std::int64_t i = 0; i < v.element_count(); ++i)
    v.data<float>()[i] = static_cast<float>(i / kSize % kTotal);  // the token's number
  heed::AttentionArgs args = {.q = q, .keys = {q, v}, .mask = heed::Mask::causal()};
  args.extents.query_starts = {0, 2, kTotal};  // where each begins, and where the last ends
  args.extents.key_starts = args.extents.query_starts;
  heed::Tensor bias = heed::Tensor::zeros({2, 1, 3, 3});  // [B, H, longest, longest]
  bias.data<float>()[9 + 6] = -INFINITY;  // of the second text, row 2 does not see key 0
  args.scores.bias = bias;
  const heed::Attended y = heed::attention(args);
  for (std::int64_t t = 0; t < kTotal; ++t)  // means: 0, 0 1 | 2, 2 3, 3 4
    std::printf("%.1f\n", y.out.data<float>()[t * kSize]);
}
