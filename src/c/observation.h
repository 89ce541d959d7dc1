// Turns a C question into an observer that writes to the caller's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "c/problem.h"
#include "heed/c.h"
#include "heed/observe.h"
#include "heed/tensor.h"

namespace heed::c {

/// The observer that answers, and its members that hold the answers.
struct Asked {
  std::unique_ptr<Observer> observer = {};
  const Tensor* answer = nullptr;
  const Tensor* second = nullptr;  // null: the question has one answer
};

/// `name` is the observation's name in messages: "observations[0]".
Asked ask(const std::string& name, const heed_observation& observation);

/// Forwards the sweep to its observer, checks the caller's memory as soon as the answers' shape is
/// known, and copies the answers there at the end.
class Observation : public Observer {
 public:
  Observation(std::string name, const heed_observation* given);

  /// Checks that the memory does not overlap `taken`, and adds it to `taken`.
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
