// Cross entropy in plain double loops.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/loss.h"

namespace heed::kernels::reference {

template <typename T>
void cross_entropy(const CrossEntropyProblem<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* logits = p.logits + row * p.vocabulary;
    T* dlogits = p.dlogits == nullptr ? nullptr : p.dlogits + row * p.vocabulary;
    const std::int32_t target = p.targets[row];
    p.losses[row] = 0;
    if (target < 0) {
      if (dlogits != nullptr) std::fill_n(dlogits, p.vocabulary, T{0});
      continue;
    }
    const double largest = *std::max_element(logits, logits + p.vocabulary);
    double sum = 0;
    for (std::int64_t v = 0; v < p.vocabulary; ++v) sum += std::exp(logits[v] - largest);
    p.losses[row] = std::log(sum) + largest - logits[target];
    if (dlogits == nullptr) continue;
    for (std::int64_t v = 0; v < p.vocabulary; ++v)
      dlogits[v] = static_cast<T>(
          p.scale * (std::exp(logits[v] - largest) / sum - (v == target ? 1.0 : 0.0)));
  }
}

}  // namespace heed::kernels::reference
