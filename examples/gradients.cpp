// Gradients of a loss that reads the output and the log-sum-exp: sum of out + sum of lse^2 / 2.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "heed/heed.h"  // IWYU pragma: keep

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
  const heed::AttentionArgs args = {.q = q, .keys = {k, v}, .mask = heed::causal()};
  const heed::Attended y = heed::attention(args);
  heed::Tensor dout = heed::Tensor::empty(y.out.shape(), heed::DType::kF64);
  std::fill_n(dout.data<double>(), dout.element_count(), 1.0);
  const heed::AttentionGrads grads =
      heed::attention_backward(args, y, dout, {.dlse = y.lse});  // d(lse^2 / 2) is lse
  const double gradient = grads.dq.data<double>()[100];

  double& element = q.data<double>()[100];
  element += 1e-5;
  const double above = loss(heed::attention(args));
  element -= 2e-5;
  const double slope = (above - loss(heed::attention(args))) / 2e-5;
  std::printf("%.6f\n%.6f\n", gradient, slope);
}
