// One weight, and the margins of a matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/rows.h"

namespace heed {

struct CellAnswer {
  Place place = {};
  LookCell cell = {};
  template <typename Value>
  std::optional<Value> seen(Value value) const {
    return cell.visible ? std::optional<Value>(value) : std::nullopt;
  }
  void describe(auto& field) const {
    describe_place(field, place);
    HEED_FIELDS(field, cell.query, cell.key, cell.visible);
    field("weight", static_cast<float>(cell.weight));
    field("score", seen(static_cast<float>(cell.score)));
    field("lse", seen(static_cast<float>(cell.lse)));
    field("rank", seen(cell.rank));
    field("of", seen(cell.of));
    field("others", seen(cell.others));
    field("write_length", seen(static_cast<float>(cell.write_length)));
    field("carried", seen(static_cast<float>(cell.carried)));
  }
};

/// Progress of the sweep over a head, on which its coarse tiles, thumbnail and margins depend.
struct SweepAnswer {
  Place place = {};
  bool kept = false;  // its result is cached
  std::optional<std::int64_t> rows = {};
  std::int64_t of = 0;
  void describe(auto& field) const {
    describe_place(field, place);
    HEED_FIELDS(field, kept, rows, of);
  }
};

struct MarginalsAnswer {
  Place place = {};
  std::vector<float> received = {}, keys_in_use = {};
  Nullable<double> row_sum_error = {};       // null: a row is NaN
  std::optional<std::int64_t> largest = {};  // in a saved page: weights stored per row
  void describe(auto& field) const {
    describe_place(field, place);
    HEED_FIELDS(field, received, keys_in_use, row_sum_error, largest);
  }
};

}  // namespace heed
