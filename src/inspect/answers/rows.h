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
  void describe(auto& field) const {
    field("count", count);
    field("weight", weight);
  }
};

void describe(auto& field, const LookKey& weight) {
  field("key", weight.key);
  field("weight", weight.weight);
}

void describe(auto& field, const LookQuery& weight) {
  field("query", weight.query);
  field("weight", weight.weight);
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
  Place place = {};
  std::int64_t key = 0, end = 0;
  double sum = 0;
  float largest = 0;
  Masked weights = {};
  std::vector<LookQuery> edges = {};
  RestAnswer rest = {};
  void describe(auto& field) const {
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
  std::int64_t query = 0;
  double entropy = 0;
  std::vector<LookKey> edges = {};
  RestAnswer rest = {};
  void describe(auto& field) const {
    field("query", query);
    field("entropy", entropy);
    field("edges", edges);
    field("rest", rest);
  }
};

struct HeadEdgesAnswer {
  int head = 0;
  std::vector<EdgeRowAnswer> rows = {};
  void describe(auto& field) const {
    field("head", head);
    field("rows", rows);
  }
};

struct EdgesAnswer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  double top_p = 0;
  std::int64_t at_most = 0, begin = 0, end = 0;
  std::vector<HeadEdgesAnswer> heads = {};
  void describe(auto& field) const {
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
