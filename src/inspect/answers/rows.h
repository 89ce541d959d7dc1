// Rows and columns of a matrix, the arcs of a window, one weight, and margins.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/fields.h"

namespace heed {

struct RestAnswer {
  std::int64_t count = 0;
  double weight = 0;
  void describe(auto& field) const { HEED_FIELDS(field, count, weight); }
};

void describe(auto& field, const LookKey& weight) { HEED_FIELDS(field, weight.key, weight.weight); }

void describe(auto& field, const LookQuery& weight) {
  HEED_FIELDS(field, weight.query, weight.weight);
}

struct RowAnswer {
  Place place = {};
  std::int64_t query = 0, end = 0;
  double entropy = 0, sum = 0;
  float largest = 0;
  Masked weights = {};
  std::vector<LookKey> edges = {};
  RestAnswer rest = {};
  void describe(auto& field) const {
    describe_place(field, place);
    HEED_FIELDS(field, query, end, entropy, sum, largest, weights, edges, rest);
  }
};

struct ColumnAnswer {
  Place place = {};
  std::int64_t key = 0, end = 0;
  double sum = 0;
  float largest = 0;
  Masked weights = {};
  std::vector<LookQuery> edges = {};
  RestAnswer rest = {};
  void describe(auto& field) const {
    describe_place(field, place);
    HEED_FIELDS(field, key, end, sum, largest, weights, edges, rest);
  }
};

struct EdgeRowAnswer {
  std::int64_t query = 0;
  double entropy = 0;
  std::vector<LookKey> edges = {};
  RestAnswer rest = {};
  void describe(auto& field) const { HEED_FIELDS(field, query, entropy, edges, rest); }
};

struct HeadEdgesAnswer {
  int head = 0;
  std::vector<EdgeRowAnswer> rows = {};
  void describe(auto& field) const { HEED_FIELDS(field, head, rows); }
};

struct EdgesAnswer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  double top_p = 0;
  std::int64_t at_most = 0, begin = 0, end = 0;
  std::vector<HeadEdgesAnswer> heads = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, layer, top_p, at_most, begin, end, heads);
  }
};

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
