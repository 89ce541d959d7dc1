// The data that travel around the ring: pairs of tensors, of which a rank holds one and receives
// the next.
#pragma once

#include <cstdint>
#include <memory>

#include "heed/tensor.h"
#include "ranks/ring.h"

namespace heed {

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
