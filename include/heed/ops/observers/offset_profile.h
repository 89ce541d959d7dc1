// How much attention goes to each distance.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// The mean weight over the visible pairs at distance d = p_i - p_j, signed, for d in [first,
/// last]: entry d - first. Distance 0 is the query itself, 1 the key before it.
class OffsetProfileObserver : public Observer {
 public:
  OffsetProfileObserver(std::int64_t first, std::int64_t last);  // first <= last, within 2^24 of 0
  std::string_view name() const override { return "offset_profile"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor mean;   // [B, H, last - first + 1], f32; 0 where no pair has the distance
  Tensor pairs;  // [B, H, last - first + 1], i64: visible pairs at the distance

 private:
  std::int64_t first_;
  std::int64_t count_ = 0;
  ObservedShape shape_;
  std::vector<double> sums_;
};

}  // namespace heed
