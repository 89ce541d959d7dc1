// The operators as plain loops, against which fast kernels are tested.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/kernels/adamw.h"
#include "ops/kernels/elementwise.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/rows.h"

namespace heed::kernels::reference {

inline void adamw(const AdamWPiece<double>& piece, const AdamWUpdate<double>& update) {
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const double g = piece.gradient[i] * update.gradient_scale;
    piece.value[i] *= update.keep;
    piece.first[i] = update.beta1 * piece.first[i] + (1 - update.beta1) * g;
    piece.second[i] = update.beta2 * piece.second[i] + (1 - update.beta2) * g * g;
    piece.value[i] -= update.rate * piece.first[i] /
                      (std::sqrt(piece.second[i]) * update.second_scale + update.epsilon);
  }
}

inline double sum_of_squares(const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

template <typename T>
void add_to(T* y, const T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
}

template <typename T>
void add_column_sums(T* sums, const T* x, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += x[row * columns + c];
}

template <typename T>
void dropout(const DropoutProblem<T>& p) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    const std::int64_t place = p.first + i;
    const auto index = static_cast<std::uint64_t>(place) >> 2;
    const PhiloxCounter counter = {static_cast<std::uint32_t>(index),
                                   static_cast<std::uint32_t>(index >> 32), p.site, 0};
    const std::uint32_t word = philox(counter, p.key)[static_cast<std::size_t>(place & 3)];
    p.x[i] = word < p.threshold ? T{0} : static_cast<T>(p.x[i] * static_cast<T>(p.scale));
  }
}

template <typename T>
void embedding(const T* table, std::int64_t width, const std::int32_t* ids, std::int64_t count,
               T* out) {
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(table + ids[i] * width, width, out + i * width);
}

template <typename T>
void embedding_backward(const std::int32_t* ids, std::int64_t count, const T* dy,
                        std::int64_t width, T* dtable) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < width; ++c) dtable[ids[i] * width + c] += dy[i * width + c];
}

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

template <typename T>
void matmul(const MatmulProblem<T>& p) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.columns; ++j) {
      double sum = p.bias != nullptr ? p.bias[j] : 0.0;
      for (std::int64_t k = 0; k < p.inner; ++k)
        sum += static_cast<double>(p.a.data[i * p.a.row + k * p.a.column]) *
               static_cast<double>(p.b.data[k * p.b.row + j * p.b.column]);
      T& out = p.out[i * p.out_row + j];
      out = static_cast<T>(p.accumulate ? out + sum : sum);
    }
  }
}

template <typename T>
void softmax(const SoftmaxRows<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    const double largest = p.width == 0 ? 0 : *std::max_element(x, x + p.width);
    double sum = 0;
    for (std::int64_t c = 0; c < p.width; ++c) sum += std::exp(x[c] - largest);
    for (std::int64_t c = 0; c < p.width; ++c)
      p.out[row * p.width + c] = static_cast<T>(std::exp(x[c] - largest) / sum);
  }
}

template <typename T>
void softmax_backward(const SoftmaxRows<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* y = p.x + row * p.width;
    const T* dy = p.dy + row * p.width;
    double sum = 0;
    for (std::int64_t c = 0; c < p.width; ++c) sum += static_cast<double>(y[c]) * dy[c];
    for (std::int64_t c = 0; c < p.width; ++c)
      p.out[row * p.width + c] = static_cast<T>(y[c] * (dy[c] - sum));
  }
}

}  // namespace heed::kernels::reference
