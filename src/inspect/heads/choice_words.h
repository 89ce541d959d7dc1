// Explains the choice of a head in a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/session.h"
#include "inspect/choice.h"
#include "inspect/heads/edges.h"

namespace heed {

/// Sentences about heads of one stack, chosen among those allowed by a given layer or head.
struct ChoiceWords {
  const Session& session;
  Stack stack = Stack::kSelf;
  std::optional<int> layer = {}, head = {};
  ShownUnits shown = {};

  /// The edge with the weight that its row of units shows.
  Edge in_units(const Place& place, Edge edge) const;
  std::string of_induction(const Edge& edge) const;
  /// The edge goes from one text to the other.
  std::string of_link(const Edge& edge) const;
  /// The head was chosen by this row, which may be a gap to fill.
  std::string of_row(const Edge& edge, bool is_gap) const;
  /// No head has an edge between words. `score` is 0 if the head is merely the first one.
  std::string of_content(const std::optional<Edge>& edge, double score) const;

 private:
  std::string named(std::span<const SessionToken> tokens, std::int64_t index) const;
  std::string distance(const Edge& edge) const;
  std::string query(std::int64_t index) const;
  std::string key(std::int64_t index) const;
  std::string seen(const Edge& edge) const;  // "looks back 7 tokens to `king` (.77)"
  std::string than_any_other() const;
};

}  // namespace heed
