// The margins of the matrix: what each key receives, how many keys each row uses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/ops/observe.h"

namespace heed::server {

struct Margins {
  std::vector<float> received;     // [T]: sum over queries
  std::vector<float> keys_in_use;  // [T]: e^entropy of each row
  double row_sum_error = 0;        // largest |sum - 1|
};

/// Of one head, or of all.
class MarginsObserver final : public Observer {
 public:
  explicit MarginsObserver(std::optional<std::int64_t> head = {}) : head_(head) {}

  std::string_view name() const override { return "margins"; }
  void begin(const ObservedShape& shape) override;
  bool needs(const ObservedRows& rows) const override { return !head_ || rows.head == *head_; }
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Margins margins(std::int64_t head) const;

 private:
  struct Head {
    std::vector<double> received;
    std::vector<double> entropy;
    double row_sum_error = 0;
  };
  std::optional<std::int64_t> head_;
  std::vector<Head> heads_;
};

}  // namespace heed::server
