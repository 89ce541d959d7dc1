// Gradients of a loss that reads the output and the log-sum-exp: sum of out + sum of lse^2 / 2.
#include <cmath>
#include <cstdio>

#include "heed/heed.h"  // IWYU pragma: keep

heed::AttentionGrads gradients(heed::ConstView q, heed::ConstView k, heed::ConstView v) {
  const heed::AttentionArgs args = {.q = q, .keys = {k, v}, .mask = heed::Mask::causal()};
  const heed::Attended y = heed::attention(args);
  heed::Tensor dout = heed::Tensor::empty(y.out.shape(), y.out.dtype());
  for (std::int64_t i = 0; i < dout.element_count(); ++i) dout.data<double>()[i] = 1;
  return heed::attention_backward(args, y, dout, {.dlse = y.lse});  // d(lse^2 / 2) is lse
}

heed::Tensor some_numbers(const heed::Shape& shape, double first) {
  heed::Tensor made = heed::Tensor::empty(shape, heed::DType::kF64);
  for (std::int64_t i = 0; i < made.element_count(); ++i)
    made.data<double>()[i] = std::sin(first + static_cast<double>(i * i % 1000));
  return made;
}

double loss(const heed::Attended& y) {
  double sum = 0;
  for (std::int64_t i = 0; i < y.out.element_count(); ++i) sum += y.out.data<double>()[i];
  for (std::int64_t i = 0; i < y.lse.element_count(); ++i)
    sum += y.lse.data<double>()[i] * y.lse.data<double>()[i] / 2;
  return sum;
}

int main() {
  heed::Tensor q = some_numbers({2, 4, 5, 16}, 1);  // 4 heads over 2
  const heed::Tensor k = some_numbers({2, 2, 7, 16}, 2), v = some_numbers({2, 2, 7, 8}, 3);
  const heed::AttentionGrads grads = gradients(q, k, v);
  const auto loss_at = [&, here = q.data<double>()[100]](double change) {
    q.data<double>()[100] = here + change;
    return loss(heed::attention({.q = q, .keys = {k, v}, .mask = heed::Mask::causal()}));
  };
  const double slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
  std::printf("dq[100] %.6f, by differences %.6f\n", grads.dq.data<double>()[100], slope);
}
