// How much attention every key receives.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

enum class OverHeads : std::uint8_t { kEach, kSum };

/// sum_i p_ij: adds in query order, in f64; of every head, or of all heads together.
class ReceivedObserver : public Observer {
 public:
  explicit ReceivedObserver(OverHeads heads = OverHeads::kEach) : heads_(heads) {}
  std::string_view name() const override { return "received"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor received;  // [B, H, Tk], or [B, Tk] of all heads; f32

 private:
  OverHeads heads_;
  ObservedShape shape_;
  std::vector<double> sums_;  // as `received`
};

}  // namespace heed
