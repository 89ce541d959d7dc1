// The product of two matrices.
#pragma once

#include "heed/tensor.h"

namespace heed {

/// out = a b + bias, or out += a b + bias. A transpose is a view: `x W^T` is
/// `matmul({.a = x, .b = w.permute({1, 0})})`.
///
/// Types: f32, or f64 for checks (plain loops); all of one type. a and b may have any strides; it
/// is fast if one of each operand's two strides is 1. Extents may be 0 (K = 0 gives the bias).
///
/// Determinism: the bits of a row of out do not depend on other rows or the number of threads.
///
/// in_bulk: for many rows. May use AMX, with different last bits that are equally deterministic.
/// AMX multiplies f32 as sums of three bf16 (ops/kernels/amx_tiles.h): faster from about 64 rows
/// on, and with less error than FMA if the summands have similar size. Parts of numbers, sums and
/// the bias below 2^-126 count as 0. The first such product asks Linux for tile registers; from
/// then on signal stacks of the process need AT_MINSIGSTKSZ bytes. $HEED_AMX=0 disables AMX.
///
/// bf16: f32 a and b are rounded to bf16 if this CPU multiplies bf16 faster than f32 (`bf16_pays`;
/// AMX only in bulk); sums are f32. Otherwise it has no effect. Numbers below 2^-126 count as 0.
struct MatmulArgs {
  ConstView a = {};         // [M, K]
  ConstView b = {};         // [K, N]
  ConstView bias = {};      // [N]; default: 0
  bool accumulate = false;  // out += instead of out =
  bool in_bulk = false;     // a product made for many rows
  bool bf16 = false;        // a and b rounded to bf16 if that is faster
};

/// Whether this CPU multiplies bf16 faster than f32: by AMX, or AMD's by AVX512-BF16.
bool bf16_pays();

/// [M, N].
Tensor matmul(const MatmulArgs& args);
/// Writes to the caller's memory, whose rows must be contiguous.
void matmul(const MatmulArgs& args, const View& out);

}  // namespace heed
