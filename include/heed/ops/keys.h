// Keys and values as attention reads them, whatever memory holds them.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/tensor/view.h"

namespace heed {

/// k [B, G, Tk, D] and v [B, G, Tk, Dv] with H % G == 0: query head h reads key/value head h / (H /
/// G). Any strides; each of f64, f32, f16, bf16 or i8 (f64 only under q of f64). Four forms hold
/// key j of row b:
///   contiguous  in slot key_begin[b] + j of its row;
///   packed      k [G, total, D], v [G, total, Dv], in slot key_starts[b] + j (Extents);
///   paged       k [pages, G, P, D], v [pages, G, P, Dv]: with s = key_begin[b] + j, in slot s mod
///               P of page page_table[b, s / P]; rows may share pages, any P. Extents.key_length
///               must say how many keys there are, since the last page is seldom full;
///   ring        in slot (ring_begin[b] + j) mod Tk of its row: key 0 is the oldest.
/// The same keys give the same bits in each of them. Slots that hold no key of the row are never
/// read. dk and dv are of contiguous and packed keys of floating types; every other gradient, and
/// the observers, take all.
struct Keys {
  ConstView k = {};
  ConstView v = {};
  ConstView page_table = {};  // [B, N] i32 or i64; entries past a row's keys may be anything
  std::vector<std::int64_t> ring_begin = {};  // one a batch, or one for all
  /// Scales of i8: f32, in k's and v's form with ceil(D / 32) and ceil(Dv / 32) as the last extent
  /// (ops/quantise.h). An element counts as its integer times its scale, rounded to f32.
  ConstView k_scales = {};
  ConstView v_scales = {};
};

}  // namespace heed
