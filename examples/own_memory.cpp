// Attention on the program's own memory in the order [B, T, H, D], with output in the same order.
#include <cstdio>
#include <vector>

#include "heed/heed.h"  // IWYU pragma: keep

constexpr std::int64_t kBatch = 1, kTokens = 3, kHeads = 2, kSize = 4;

// heed sees [B, H, T, D] in it: a view, no copy.
heed::View by_head(std::vector<float>& memory) {
  const heed::View lying(memory.data(), heed::DType::kF32, {kBatch, kTokens, kHeads, kSize});
  return lying.permute({0, 2, 1, 3});
}

int main() {
  std::vector<float> q(kBatch * kTokens * kHeads * kSize);  // zeros, so weights are even
  std::vector<float> k = q, v = q, out = q;
  for (std::int64_t i = 0; i < std::ssize(v); ++i) {
    const std::int64_t token = i / (kHeads * kSize);
    v[i] = static_cast<float>(token);
  }
  heed::Tensor lse = heed::Tensor::empty({kBatch, kHeads, kTokens});
  heed::Tensor lse_low = heed::Tensor::empty(lse.shape());
  heed::attention({.q = by_head(q), .keys = {by_head(k), by_head(v)}, .mask = heed::Mask::causal()},
                  heed::AttendedView{.out = by_head(out), .lse = lse, .lse_low = lse_low});
  for (std::int64_t t = 0; t < kTokens; ++t)  // the mean of 0 .. t, and ln(t + 1)
    std::printf("%.2f %.4f\n", out[t * kHeads * kSize], lse.data<float>()[t]);
}
