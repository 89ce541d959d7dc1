// Rows and columns of a matrix, and the arcs of a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/fields.h"

namespace heed {

struct RestAnswer {
  static constexpr const char* kName = "Rest";
  std::int64_t count = 0;
  double weight = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    field("count", count);
    field("weight", weight);
  }
};

struct KeyAnswer {
  static constexpr const char* kName = "KeyWeight";
  std::int64_t key = 0;
  float weight = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    field("key", key);
    field("weight", weight);
  }
};

struct QueryAnswer {
  static constexpr const char* kName = "QueryWeight";
  std::int64_t query = 0;
  float weight = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    field("query", query);
    field("weight", weight);
  }
};

struct RowAnswer {
  static constexpr const char* kName = "Row";
  Place place = {};
  std::int64_t query = 0, end = 0;
  double entropy = 0, sum = 0;
  float largest = 0;
  Masked weights = {};
  std::vector<KeyAnswer> edges = {};
  RestAnswer rest = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, place);
    field("query", query);
    field("end", end);
    field("entropy", entropy);
    field("sum", sum);
    field("largest", largest);
    field("weights", weights);
    field("edges", edges);
    field("rest", rest);
  }
};

struct ColumnAnswer {
  static constexpr const char* kName = "Column";
  Place place = {};
  std::int64_t key = 0, end = 0;
  double sum = 0;
  float largest = 0;
  Masked weights = {};
  std::vector<QueryAnswer> edges = {};
  RestAnswer rest = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, place);
    field("key", key);
    field("end", end);
    field("sum", sum);
    field("largest", largest);
    field("weights", weights);
    field("edges", edges);
    field("rest", rest);
  }
};

struct EdgeRowAnswer {
  static constexpr const char* kName = "EdgeRow";
  std::int64_t query = 0;
  double entropy = 0;
  std::vector<KeyAnswer> edges = {};
  RestAnswer rest = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("query", query);
    field("entropy", entropy);
    field("edges", edges);
    field("rest", rest);
  }
};

struct HeadEdgesAnswer {
  static constexpr const char* kName = "HeadEdges";
  int head = 0;
  std::vector<EdgeRowAnswer> rows = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("head", head);
    field("rows", rows);
  }
};

struct EdgesAnswer {
  static constexpr const char* kName = "Edges";
  Stack stack = Stack::kSelf;
  int layer = 0;
  double top_p = 0;
  std::int64_t at_most = 0, begin = 0, end = 0;
  std::vector<HeadEdgesAnswer> heads = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("stack", std::string(stack_name(stack)));
    field("layer", layer);
    field("top_p", top_p);
    field("at_most", at_most);
    field("begin", begin);
    field("end", end);
    field("heads", heads);
  }
};

}  // namespace heed
