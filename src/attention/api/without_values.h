// Attention that computes only its log-sum-exp.
#pragma once

#include "heed/attention.h"

namespace heed {

/// The same problem with values of width 0: `attention` then computes no out and takes about half
/// the time.
inline AttentionArgs without_values(AttentionArgs args) {
  ConstView& v = args.keys.v;
  if (v.rank() > 0) v = v.slice(v.rank() - 1, 0, 0);
  args.keys.v_scales = {};
  return args;
}

}  // namespace heed
