// How much of a row's attention goes to a class of keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// mass[b, h, i, c] = sum of p_ij over the keys j with class_of_key[j] = c. A key of class -1
/// counts nowhere; a set of keys is class 0 against -1.
class MassObserver : public Observer {
 public:
  /// `class_of_key` has one entry a logical key (Tk of them), -1 to classes - 1.
  MassObserver(std::vector<std::int32_t> class_of_key, std::int64_t classes);
  std::string_view name() const override { return "mass"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor mass;  // [B, H, Tq, classes], f32

 private:
  std::vector<std::int32_t> class_of_key_;
  std::int64_t classes_;
};

}  // namespace heed
