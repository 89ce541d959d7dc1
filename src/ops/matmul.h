// The product of two matrices.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// out = a b + bias, or out += a b + bias. A transpose is a view: `x W^T` is
/// `matmul({.a = x, .b = w.permute({1, 0})})`.
///
/// Types: f32, or f64 for checks (plain loops); all of one type. a and b may have any strides; it
/// is quick where one of the two is 1. Extents may be 0 (K = 0 gives the bias).
///
/// Determinism: the bits of a row of out depend on neither the other rows nor the number of
/// threads.
///
/// in_bulk: for many rows. May use AMX: the last bits differ, and are as deterministic. It then
/// multiplies f32 as sums of three bf16 (ops/kernels/amx_panel.h): faster from some 64 rows on, and
/// with less error than FMA where the summands are alike. Parts of numbers, of sums and of the
/// bias below 2^-126 count as 0. The first such product asks Linux for tile registers; signal
/// stacks of the process need AT_MINSIGSTKSZ bytes from then on. $HEED_AMX=0 does without.
///
/// bf16: a and b are rounded to bf16 where this CPU multiplies those faster than f32 (`bf16_pays`;
/// by AMX in bulk alone), sums are f32; elsewhere it changes nothing. Of f32; numbers below 2^-126
/// count as 0.
struct MatmulArgs {
  ConstView a = {};         // [M, K]
  ConstView b = {};         // [K, N]
  ConstView bias = {};      // [N]; not given: 0
  bool accumulate = false;  // out += instead of out =
  bool in_bulk = false;     // a product made for many rows
  bool bf16 = false;        // a and b rounded to bf16, where that is faster
};

/// Whether this CPU multiplies bf16 faster than f32: by AMX, or AMD's by AVX512-BF16.
bool bf16_pays();

/// [M, N].
Tensor matmul(const MatmulArgs& args);
/// Into memory of the caller whose rows are contiguous.
void matmul(const MatmulArgs& args, const View& out);

}  // namespace heed
