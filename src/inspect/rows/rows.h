// Rows, columns, arcs, margins and single cells, as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/map/cells.h"
#include "inspect/session/live_session.h"

namespace heed::server {

/// Which keys of a row get an arc: the largest that make up `top_p` of its mass, at most `at_most`.
struct ArcRule {
  double top_p = 0.9;
  std::int64_t at_most = 8;
};

/// A row or column [begin, end) of one head.
struct LineRequest {
  int layer = 0;
  std::int64_t head = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ArcRule rule;
};

std::string row_json(const LiveSession& session, const LineRequest& request, Cancel& cancel);
std::string column_json(const LiveSession& session, const LineRequest& request, Cancel& cancel);

struct EdgesRequest {
  int layer = 0;
  std::vector<std::int64_t> heads;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  ArcRule rule;
};
std::string edges_json(const LiveSession& session, const EdgesRequest& request, Cancel& cancel);

std::string marginals_json(int layer, std::int64_t head, const Margins& margins);
std::string cell_json(const LiveSession& session, int layer, std::int64_t head, std::int64_t query,
                      std::int64_t key);

}  // namespace heed::server
