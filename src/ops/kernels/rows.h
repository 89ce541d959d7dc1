// Kernels that work row by row: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct SoftmaxRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const T* x = nullptr;   // [rows, width]; in the backward pass the softmax itself
  const T* dy = nullptr;  // [rows, width], in the backward pass
  T* out = nullptr;       // [rows, width]
};

namespace cpu {
void softmax(const SoftmaxRows<float>& problem);
void softmax_backward(const SoftmaxRows<float>& problem);
}  // namespace cpu

template <typename T>
struct CrossEntropyProblem {
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  const T* logits = nullptr;              // [rows, vocabulary]
  const std::int32_t* targets = nullptr;  // negative: the row is not counted
  double* losses = nullptr;               // [rows]; 0 if the row is not counted
  T* dlogits = nullptr;                   // null, or [rows, vocabulary], or the logits themselves
  double scale = 0;                       // factor of dlogits for one row's loss
  double smoothing = 0;                   // share of a target spread evenly over all classes
};

namespace cpu {
void cross_entropy(const CrossEntropyProblem<float>& problem);
}  // namespace cpu

}  // namespace heed::kernels

namespace heed::kernels::cpu {

void embedding(const float* table, std::int64_t width, const std::int32_t* ids, std::int64_t count,
               float* out);
/// dtable[ids[i]] += dy[i], in order of i for every element.
void embedding_backward(const std::int32_t* ids, std::int64_t count, const float* dy,
                        std::int64_t width, float* dtable);

}  // namespace heed::kernels::cpu
