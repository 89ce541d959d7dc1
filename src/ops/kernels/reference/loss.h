// Cross entropy in plain double loops.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/kernels/loss.h"

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
    double all = 0;
    for (std::int64_t v = 0; v < p.vocabulary; ++v) {
      sum += std::exp(logits[v] - largest);
      all += logits[v];
    }
    const double spread = p.smoothing / static_cast<double>(p.vocabulary);
    const double kept = 1 - p.smoothing;
    p.losses[row] = std::log(sum) + largest - kept * logits[target] - spread * all;
    if (dlogits == nullptr) continue;
    for (std::int64_t v = 0; v < p.vocabulary; ++v)
      dlogits[v] = static_cast<T>(
          p.scale * (std::exp(logits[v] - largest) / sum - spread - (v == target ? kept : 0.0)));
  }
}

}  // namespace heed::kernels::reference
