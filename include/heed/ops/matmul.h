// The product of two matrices.
#pragma once

#include "heed/tensor/tensor.h"

namespace heed {

/// out = a b + bias, or out += a b + bias. A transpose is a view: `x W^T` is
/// `matmul({.a = x, .b = w.permute({1, 0})})`.
///
/// Types: f32, or f64 for checks (plain loops); all of one type. a and b lie as they are when one
/// of their strides is 1, and are copied otherwise. Extents may be 0 (K = 0 gives the bias).
///
/// Determinism: while the rows of `a` are contiguous, the bits of a row of out depend on neither
/// the other rows nor the number of threads. Where the columns are (`x^T dy`), they may depend on
/// the number of threads.
///
/// in_bulk: for many rows, with bits of their own, and the same promise. A CPU with AMX then
/// multiplies f32 as sums of three bf16, with less error than its FMA has, and faster from some 64
/// rows on (kernels/cpu/amx_tiles.h). Parts of numbers and of sums below 2^-126 count as 0.
struct MatmulArgs {
  ConstView a = {};         // [M, K]
  ConstView b = {};         // [K, N]
  ConstView bias = {};      // [N]; not given: 0
  bool accumulate = false;  // out += instead of out =
  bool in_bulk = false;     // a product made for many rows
};

/// [M, N].
Tensor matmul(const MatmulArgs& args);
/// Into memory of the caller whose rows are contiguous.
void matmul(const MatmulArgs& args, const View& out);

}  // namespace heed
