// The arguments of the loss kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct CrossEntropyProblem {
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  const T* logits = nullptr;              // [rows, vocabulary]
  const std::int32_t* targets = nullptr;  // negative: the row does not count
  double* losses = nullptr;               // [rows]; 0 where the row does not count
  T* dlogits = nullptr;                   // null, or [rows, vocabulary], or the logits themselves
  double scale = 0;                       // of dlogits: of one row's loss
  double smoothing = 0;                   // share of a target that all classes have alike
};

namespace cpu {
void cross_entropy(const CrossEntropyProblem<float>& problem);
}  // namespace cpu

}  // namespace heed::kernels
