// Heads whose pattern resembles an example: another head's, or a drawn one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/session.h"
#include "inspect/session/cancel.h"

namespace heed {

/// Weights of one row, which are scaled to sum 1.
struct PatternRow {
  std::int64_t query = 0;
  std::vector<std::int64_t> keys = {};
  std::vector<float> weights = {};  // one per key; empty: all equal
};

/// Exactly one of these is set.
struct PatternExample {
  std::optional<Place> head = {};         // in the same stack
  std::optional<std::int64_t> back = {};  // the row's whole weight on the key this many tokens back
  std::vector<PatternRow> rows = {};
};

struct SimilarHead {
  Place place;
  double overlap = 0;
};

/// Errors (kInvalidArgument, kNotFound): no example or several, tokens that do not exist.
void check_example(const Session& session, Stack stack, const PatternExample& example);

/// The mean over the example's rows of sum_j min(p_ij, e_ij), 0 to 1: the share of a row's weight
/// that agrees with the example. Every head of the stack, most similar first. Rows that see only
/// one key are skipped. Memory: a few rows of one layer. Errors are those of check_example.
std::vector<SimilarHead> similar_heads(const Session& session, Stack stack,
                                       const PatternExample& example, Cancel& cancel);

}  // namespace heed
