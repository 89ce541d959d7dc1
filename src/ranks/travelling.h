// What goes around the ring: a rank's tensors in one message, two messages' memory at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "heed/tensor/tensor.h"
#include "ranks/ring.h"

namespace heed {

/// Two tensors of [B, G, T, D] and [B, G, T, Dv], row-major, for T tokens.
class Message {
 public:
  Message(const ConstView& first_like, const ConstView& second_like, DType first, DType second);

  /// Room for so many tokens; what it held is lost.
  void resize(std::int64_t tokens);
  View first() { return view(0); }
  View second() { return view(1); }
  std::span<std::byte> bytes();

 private:
  View view(int which);
  std::size_t size_of(int which) const;

  struct Part {
    DType dtype;
    std::int64_t batch, heads, width;
  };
  Part parts_[2];
  std::int64_t tokens_ = 0;
  Tensor memory_;
};

/// Keys and values: the own ones first, then those of the ranks before.
class TravellingKeys {
 public:
  TravellingKeys(Ranks& ranks, const Ring& ring, const Keys& own);

  Keys here();
  /// Begins to pass them on; `arrive` waits for the next ones. Not after the last step.
  void depart(int step);
  void arrive();

 private:
  Ranks& ranks_;
  const Ring& ring_;
  Message here_;
  Message next_;
  std::unique_ptr<Transfer> transfer_;
};

/// Gradients of keys and values, which follow their keys by one step and come home in the end.
class TravellingGradients {
 public:
  TravellingGradients(Ranks& ranks, const Ring& ring, const Keys& own);

  /// Adds to what the ranks before found for the keys that are here at this step.
  void add(int step, const View& dk, const View& dv);
  View dk() { return here_.first(); }
  View dv() { return here_.second(); }

 private:
  void pass_on_after(int step);

  Ranks& ranks_;
  const Ring& ring_;
  Message here_;
  Message next_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace heed
