// The gradients of what observers see of the weights: to train towards an entropy, or a share.
#pragma once

#include "heed/ops/attention.h"

namespace heed {

/// Cotangents of EntropyObserver's and ReceivedObserver's answers; not given: 0. Row-major, f32
/// (f64 where q is). Entries past the lengths are not read.
struct ObservedCotangents {
  ConstView dentropy = {};   // [B, H, Tq]
  ConstView dreceived = {};  // [B, H, Tk]
};

/// d(sum_i dentropy_i H_i + sum_j dreceived_j R_j) by q, k and what else `request` names, with
/// H_i = -sum_j p_ij ln p_ij (and the sink's term) and R_j = sum_i p_ij:
///   c_ij = dreceived_j - dentropy_i ln p_ij,  dz_ij = p_ij (c_ij - sum_k p_ik c_ik).
///
/// Two sweeps over tiles, memory linear in T, every mask and similarity, deterministic. Weights are
/// those before dropout, so it has no part in this; v has none either, so dv is 0. `request.dlse`
/// does not belong here: an error. A weight of 0 gives nothing, as p ln p does. The entropy of
/// sigmoid weights has a gradient, that of none is an error, as the entropy is.
/// Reads lse and lse_low of `attended`; in double after `reference`, as `observe` does.
AttentionGrads observe_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});
AttentionGrads observe_backward(const AttentionArgs& args, const Attended& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});

}  // namespace heed
