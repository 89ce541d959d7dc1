// Weights times the length of what they bring: a large weight on a short value moves little.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heed/ops/observe.h"

namespace heed {

/// Shows another observer p_ij |v_j| in place of p_ij (Kobayashi et al. 2020, "Attention is not
/// only a weight"); v before any output projection. Works with every observer but entropy, which
/// reads logarithms. `weighted` keeps the answers and must live as long as this.
class ValueNormObserver : public Observer {
 public:
  explicit ValueNormObserver(Observer& weighted) : weighted_(weighted) {}
  std::string_view name() const override { return "value_norm"; }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return weighted_.rows_needed(batch, head);
  }
  bool needs(const ObservedRows& rows) const override { return weighted_.needs(rows); }
  bool needs(const ObservedRows& rows, std::int64_t begin, std::int64_t end) const override {
    return weighted_.needs(rows, begin, end);
  }
  TileParts parts() const override;
  void begin(const ObservedShape& shape) override;
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override { weighted_.finish(); }

 private:
  Observer& weighted_;
};

}  // namespace heed
