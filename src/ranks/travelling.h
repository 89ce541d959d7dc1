// What goes around the ring: pairs of tensors, of which a rank holds one and receives the next.
#pragma once

#include <cstdint>
#include <memory>

#include "heed/tensor.h"
#include "ranks/ring.h"

namespace heed {

/// Of keys and of values, row-major: [B, G, T, D] and [B, G, T, Dv].
struct TensorPair {
  Tensor first;
  Tensor second;
};

/// Keys and values: the own ones first, then those of the ranks before.
class TravellingKeys {
 public:
  TravellingKeys(Ranks& ranks, const Ring& ring, const Keys& own);

  Keys here() const { return here_; }
  /// Begins to pass them on; `arrive` waits for the next ones. Not after the last step.
  void depart(int step);
  void arrive();

 private:
  Ranks& ranks_;
  const Ring& ring_;
  TensorPair copied_;  // what is here, unless that is the caller's own memory
  TensorPair next_;
  Keys here_;
  std::unique_ptr<Transfer> transfer_;
};

/// Gradients of keys and values, which follow their keys by one step and come home in the end.
class TravellingGradients {
 public:
  TravellingGradients(Ranks& ranks, const Ring& ring, const Keys& own);

  /// Waits for what the ranks before found for the keys that are here; more is added to it.
  TensorPair& here();
  /// What is here goes to the next rank. After the last step waits for the own ones.
  void depart(int step);

 private:
  Ranks& ranks_;
  const Ring& ring_;
  TensorPair here_;
  TensorPair next_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace heed
