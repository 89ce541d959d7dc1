// The margins of the matrix: how much each key receives, and how many keys each row uses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/observe.h"

namespace heed {

struct Margins {
  std::vector<float> received;               // [Tk]: sum over queries
  std::vector<float> keys_in_use;            // [Tq]: e^entropy of each row
  std::optional<double> row_sum_error = {};  // largest |sum - 1|; none if a row is NaN
};

/// Shows an observer only one head, or all of them.
class OfHead final : public Observer {
 public:
  OfHead(Observer& observer, std::optional<std::int64_t> head) : observer_(observer), head_(head) {}

  std::string_view name() const override { return observer_.name(); }
  void begin(const ObservedShape& shape) override { observer_.begin(shape); }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return !head_ || head == *head_ ? observer_.rows_needed(batch, head) : RowSpan{};
  }
  bool needs(const ObservedRows& rows) const override {
    return (!head_ || rows.head == *head_) && observer_.needs(rows);
  }
  TileParts parts() const override { return observer_.parts(); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    return observer_.rows(rows);
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    observer_.tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override { observer_.merge(state, rows); }
  void finish() override { observer_.finish(); }

 private:
  Observer& observer_;
  std::optional<std::int64_t> head_;
};

/// The largest |sum - 1| of a head's rows, NaN if a row is. The observer `mass` has the sums of a
/// class of keys: with one class of all keys it took 2.0 ms of a sweep of 10.1 (T = 2,048, two
/// heads, one core).
class RowSumError final : public Observer {
 public:
  std::string_view name() const override { return "row_sum_error"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  std::vector<double> largest;  // [H]
};

/// The margins of one head, or of all, during a sweep by the caller of `observe`.
class MarginsSweep {
 public:
  explicit MarginsSweep(std::optional<std::int64_t> head = {})
      : parts_{OfHead(received_, head), OfHead(entropy_, head), OfHead(error_, head)} {}
  MarginsSweep& operator=(MarginsSweep&&) = delete;

  void add_to(std::vector<Observer*>& observers);
  Margins margins(std::int64_t head) const;

 private:
  ReceivedObserver received_;
  EntropyObserver entropy_;
  RowSumError error_;
  OfHead parts_[3];
};

}  // namespace heed
