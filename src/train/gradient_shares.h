// The gradients of a step's rows, gathered by each thread for itself and added up at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/nn/run.h"

namespace heed {

/// Into how many shares the rows of a step are cut: one a thread, or one in all where that would
/// leave more than a quarter of the threads' time idle or take more than 1 GiB.
std::int64_t share_count(std::span<Parameter* const> parameters, std::int64_t rows);

class GradientShares {
 public:
  /// Share 0 is `whole` itself. Makes all the gradients, so that a step allocates none.
  GradientShares(std::span<Parameter* const> parameters, Gradients& whole, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(others_.size()) + 1; }
  Gradients& of(std::int64_t share);
  /// Adds the others to `whole`, in their order.
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
  std::vector<std::vector<const float*>> values_;  // by share, from 1 on, and parameter
  std::vector<Piece> pieces_;
};

}  // namespace heed
