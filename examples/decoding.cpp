// Decoding with a cache of f16 in pages: two texts of 5 and 3 tokens, then one token at a time.
#include <cstdio>
#include <vector>

#include "heed/heed.h"  // IWYU pragma: keep

constexpr std::int64_t kBatch = 2, kHeads = 4, kGroups = 2, kSize = 32;

int main() {
  heed::KvCache cache({.layers = 1,
                       .batch = kBatch,
                       .kv_heads = kGroups,
                       .capacity = 100,
                       .head_dim = kSize,
                       .value_dim = kSize},
                      {.dtype = heed::DType::kF16, .form = heed::KvForm::kPaged, .page_size = 4});
  std::vector<std::int64_t> counts = {5, 3};  // tokens of this pass
  for (std::int64_t tokens = 5; cache.lengths()[0] < 8; tokens = 1, counts = {1, 1}) {
    const heed::Tensor q = heed::Tensor::zeros({kBatch, kHeads, tokens, kSize});
    const heed::Tensor k = heed::Tensor::zeros({kBatch, kGroups, tokens, kSize});
    heed::Tensor v = heed::Tensor::empty(k.shape());
    for (std::int64_t i = 0; i < v.element_count(); ++i)  // a token's value is its position
      v.data<float>()[i] =
          static_cast<float>(cache.lengths()[i / (kGroups * tokens * kSize)] + i / kSize % tokens);
    cache.append(0, {k, v}, counts);  // each layer appends and attends
    heed::AttentionArgs args = {.q = q, .keys = cache.keys(0), .mask = heed::Mask::causal()};
    args.extents = cache.extents(counts);
    args.extents.query_length = counts;
    const heed::Attended y = heed::attention(args);
    cache.advance(counts);  // after the last layer

    for (std::int64_t b = 0; b < kBatch;
         ++b)  // its last token's output: the mean of 0 .. length - 1
      std::printf("%.1f ", y.out.data<float>()[(b * kHeads * tokens + counts[b] - 1) * kSize]);
    std::printf("\n");
  }
}
