// A question of C as an observer that writes into memory of the caller's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "c/problem.h"
#include "heed/c.h"
#include "heed/observe.h"
#include "heed/tensor.h"

namespace heed::c {

/// The observer that answers, and where in it the answers are.
struct Asked {
  std::unique_ptr<Observer> observer = {};
  const Tensor* answer = nullptr;
  const Tensor* second = nullptr;  // null: this question has one answer
};

/// `name` is that of the observation in messages: "observations[0]".
Asked ask(const std::string& name, const heed_observation& observation);

/// Shows the sweep what its observer shows, checks the caller's memory as soon as the shape of the
/// answers is known, and copies them there at the end.
class Observation : public Observer {
 public:
  Observation(std::string name, const heed_observation* given);

  /// Checks memory against `taken`, and adds to it.
  void check(std::vector<Operand>& taken) const;

  std::string_view name() const override { return shown().name(); }
  void begin(const ObservedShape& shape) override;
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return shown().rows_needed(batch, head);
  }
  bool needs(const ObservedRows& rows) const override { return shown().needs(rows); }
  bool needs(const ObservedRows& rows, std::int64_t begin, std::int64_t end) const override {
    return shown().needs(rows, begin, end);
  }
  TileParts parts() const override { return shown().parts(); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    return shown().rows(rows);
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    shown().tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override { shown().merge(state, rows); }
  void finish() override;

 private:
  Observer& shown() const { return by_value_norm_ ? *by_value_norm_ : *asked_.observer; }

  std::string name_;
  Asked asked_;
  std::unique_ptr<Observer> by_value_norm_;
  Place answer_;
  Place second_;
};

}  // namespace heed::c
