// The gradients of a step's rows, accumulated per thread and summed at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/model.h"

namespace heed {

/// The number of shares for a step's rows: one per thread, or a single one if shares would idle
/// more than a quarter of the threads' time or need more than 1 GiB.
std::int64_t share_count(std::span<Parameter* const> parameters, std::int64_t rows);

class GradientShares {
 public:
  /// Share 0 is `whole` itself. Allocates all gradients, so that a step allocates none.
  GradientShares(std::span<Parameter* const> parameters, Gradients& whole, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(others_.size()) + 1; }
  Gradients& of(std::int64_t share);
  /// Adds the other shares to `whole`, in order.
  void add_up() const;

 private:
  struct Piece {  // of one parameter
    float* whole;
    std::int64_t begin;
    std::int64_t count;
    std::size_t parameter;
  };

  Gradients& whole_;
  std::vector<Gradients> others_;
  std::vector<std::vector<const float*>> values_;  // by share (from 1 on) and parameter
  std::vector<Piece> pieces_;
};

}  // namespace heed
