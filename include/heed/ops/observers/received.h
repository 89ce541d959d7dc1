// How much attention every key receives.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// sum_i p_ij: adds in query order, in f64.
class ReceivedObserver : public Observer {
 public:
  std::string_view name() const override { return "received"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor received;  // [B, H, Tk], f32

 private:
  ObservedShape shape_;
  std::vector<double> sums_;  // [B, H, Tk]
};

}  // namespace heed
