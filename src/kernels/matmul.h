// The arguments of the matrix product kernels: raw pointers and plain data, already checked.
#pragma once

#include <cstdint>

namespace heed::kernels {

template <typename T>
struct MatrixOperand {
  const T* data = nullptr;
  std::int64_t row = 0;     // strides in elements
  std::int64_t column = 0;  // oneDNN: one of the two is 1
};

/// out [M, N] = a [M, K] b [K, N] + bias, or += . All extents at least 1, but K may be 0 for the
/// reference.
template <typename T>
struct MatmulProblem {
  std::int64_t rows = 0;     // M
  std::int64_t columns = 0;  // N
  std::int64_t inner = 0;    // K
  MatrixOperand<T> a;
  MatrixOperand<T> b;
  const T* bias = nullptr;  // null: none
  T* out = nullptr;
  std::int64_t out_row = 0;  // stride; columns are contiguous
  bool accumulate = false;
};

/// By oneDNN, on the threads of parallel loops; the host's OpenMP settings stay.
void matmul_onednn(const MatmulProblem<float>& problem);

/// Whether this process may use AMX. The first call asks the system; $HEED_AMX=0 says no.
bool has_amx();

/// By AMX, on thread_count() threads; rows, and columns by the 32, that cannot be cut
/// (cpu/amx_panel.h) go to oneDNN. False, and nothing is written: there is no AMX, or b is small.
bool matmul_amx(const MatmulProblem<float>& problem);

}  // namespace heed::kernels
