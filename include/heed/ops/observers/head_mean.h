// The mean attention of a layer's heads.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/ops/observe.h"
#include "heed/ops/observers/region.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// The mean of a region's weights over its heads, which add in order. Memory: one [rows, keys] a
/// batch, quadratic for the default region, which is everything.
class HeadMeanObserver : public Observer {
 public:
  explicit HeadMeanObserver(const Region& region = {}) : asked_(region) {}
  std::string_view name() const override { return "head_mean"; }
  bool needs(const ObservedRows& rows) const override { return region_.meets(rows); }
  bool needs(const ObservedRows&, std::int64_t begin, std::int64_t end) const override {
    return region_.meets(begin, end);
  }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor mean;  // [batches, rows, keys] of the region, f32; 0 where masked and past the lengths

 private:
  Region asked_;
  Region region_ = {};  // what was asked for, of the problem that is observed
};

}  // namespace heed
