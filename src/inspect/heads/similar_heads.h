// Heads whose pattern resembles an example: another head's, or one that somebody drew.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/inspect/session.h"
#include "inspect/session/cancel.h"

namespace heed {

/// Weights of one row, which need not sum to 1: they are scaled.
struct PatternRow {
  std::int64_t query = 0;
  std::vector<std::int64_t> keys = {};
  std::vector<float> weights = {};  // as keys; empty: all the same
};

/// One of these.
struct PatternExample {
  std::optional<Place> head = {};         // of the same stack
  std::optional<std::int64_t> back = {};  // all of a row on the key so many tokens back
  std::vector<PatternRow> rows = {};
};

struct SimilarHead {
  Place place;
  double overlap = 0;
};

/// The mean over the example's rows of sum_j min(p_ij, e_ij), 0 to 1: the share of a row's weight
/// that lies where the example has it. Every head of the stack, the most similar first. A row that
/// can see one key only says nothing, and is left out. Memory: some rows of one layer.
/// Errors (kInvalidArgument, kNotFound): nothing or several given, tokens that do not exist.
std::vector<SimilarHead> similar_heads(const Session& session, Stack stack,
                                       const PatternExample& example, Cancel& cancel);

}  // namespace heed
