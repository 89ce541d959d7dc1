// Attention, its gradients and an observation of its weights, with only heed::attention.
#include <cstdio>

#include "heed/attention.h"
#include "heed/observe.h"

int main() {
  heed::Tensor q = heed::Tensor::zeros({1, 2, 5, 8});  // [B, H, T, D]
  heed::Tensor k = heed::Tensor::zeros({1, 1, 5, 8});  // one key/value head for both query heads
  heed::Tensor v = heed::Tensor::zeros({1, 1, 5, 8});
  for (int i = 0; i < 5; ++i) v.data<float>()[i * 8] = static_cast<float>(i);

  const heed::AttentionArgs args = {.q = q, .keys = {k, v}, .mask = heed::Mask::causal()};
  const heed::Attended y = heed::attention(args);
  std::printf("the last row's mean: %.1f\n", y.out.data<float>()[4 * 8]);

  const heed::AttentionGrads gradients = heed::attention_backward(args, y, y.out.view());
  std::printf("the gradient of the first value: %.2f\n", gradients.dv.data<float>()[0]);

  heed::EntropyObserver entropy;
  heed::Observer* const observers[] = {&entropy};
  heed::observe(args, y, observers);
  std::printf("the last row's entropy: %.4f\n", entropy.entropy.data<float>()[4]);
}
