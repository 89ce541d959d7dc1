// Shared by both passes of ring attention: which rank holds what, and attention between two parts.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include "heed/ranks.h"
#include "heed/tensor.h"

namespace heed {

/// The type in which sums for tensors of this type are accumulated: f32, or f64 for f64.
inline DType sum_type(const ConstView& of) {
  return of.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

/// to += part, same shape [B, H, T, D]; `to` has its sum_type and contiguous T D.
void add_part(const View& to, const ConstView& part);

/// A part of the text and the place of its tokens among its rank's.
struct HeldPart {
  RingPart text;
  std::int64_t at = 0;
  std::int64_t size() const { return text.end - text.begin; }
};

class Ring {
 public:
  /// Checks this rank's arguments, and that those of all ranks fit together.
  Ring(Ranks& ranks, const RingAttentionArgs& args, std::string_view op);

  int count() const { return count_; }
  /// Which rank's keys are here at this step: the own ones at step 0, then those of the ranks
  /// before.
  int holder(int step) const { return (rank_ + count_ - step) % count_; }
  const std::vector<HeldPart>& parts(int rank) const {
    return parts_[static_cast<std::size_t>(rank)];
  }
  const std::vector<HeldPart>& own() const { return parts(rank_); }
  std::int64_t tokens(int rank) const;

  /// Whether any of these rows may see any of these keys.
  bool meet(const HeldPart& rows, const HeldPart& keys) const;
  /// Attention of the rows to the keys, both with their positions in the text. Without the sink,
  /// which applies to the whole row.
  AttentionArgs between(const HeldPart& rows, const HeldPart& keys, const Keys& held) const;

 private:
  void check_own(std::string_view op);
  void check_together(Ranks& ranks, std::string_view op, const std::exception_ptr& refused);

  const RingAttentionArgs& args_;
  int rank_;
  int count_;
  std::vector<std::vector<HeldPart>> parts_;  // per rank
};

/// A mask of the whole text, for some of its rows and keys.
Mask part_of_mask(const Mask& whole, const MaskTarget& target, const RingPart& rows,
                  const RingPart& keys);

/// The part of a bias [..., length or 1, length or 1] for these rows and keys.
ConstView part_of_bias(const ConstView& bias, const RingPart& rows, const RingPart& keys);

/// For keys and values, row-major: [B, G, T, D] and [B, G, T, Dv].
struct TensorPair {
  Tensor first;
  Tensor second;
};

/// Keys and values: the rank's own first, then those of the ranks before.
class TravellingKeys {
 public:
  TravellingKeys(Ranks& ranks, const Ring& ring, const Keys& own);

  Keys here() const { return here_; }
  /// Begins to pass them on; `arrive` waits for the next ones. Not called after the last step.
  void depart(int step);
  void arrive();

 private:
  Ranks& ranks_;
  const Ring& ring_;
  TensorPair copied_;  // the current pair, unless it is the caller's memory
  TensorPair next_;
  Keys here_;
  std::unique_ptr<Transfer> transfer_;
};

/// Gradients of keys and values, which follow their keys by one step and finally return to their
/// rank.
class TravellingGradients {
 public:
  TravellingGradients(Ranks& ranks, const Ring& ring, const Keys& own);

  /// Waits for the previous ranks' gradients of the current keys, to which more is added.
  TensorPair& here();
  /// Sends the current gradients to the next rank. After the last step, waits for the rank's own.
  void depart(int step);

 private:
  Ranks& ranks_;
  const Ring& ring_;
  TensorPair here_;
  TensorPair next_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace heed
