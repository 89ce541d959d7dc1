// Rows and columns of a matrix, and the arcs of a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

}  // namespace heed
