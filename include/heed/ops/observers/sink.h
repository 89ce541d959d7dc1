// How much of a row's attention goes to nobody.
#pragma once

#include <memory>
#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// The weight of the sink: 1 less the sum of the row's weights; 0 without a sink and past
/// query_length.
class SinkObserver : public Observer {
 public:
  std::string_view name() const override { return "sink"; }
  bool needs(const ObservedRows& rows) const override { return rows.sink != nullptr; }
  bool needs(const ObservedRows&, std::int64_t, std::int64_t) const override { return false; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<State>();
  }
  void tile(State&, const ObservedRows&, const ObservedTile&) const override {}
  void merge(State& state, const ObservedRows& rows) override;

  Tensor share;  // [B, H, Tq], f32
};

}  // namespace heed
