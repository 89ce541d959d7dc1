// A condition on heads, as the page's filter field and the command line read it:
// induction>0.4 sink<0.5 layer 4-8
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/inspect/head_scores.h"

namespace heed {

/// Holds for a head where all terms do; without terms for every head.
struct HeadFilter {
  /// `previous>0.2`, by a score's name or short form, or `layer 4-8`, `head 3`: a range.
  struct Term {
    std::string name;
    enum class Test : std::uint8_t { kAbove, kAtLeast, kBelow, kAtMost, kWithin } test;
    double first = 0;     // the bound, or the range's first
    double last = 0;      // of a range
    std::int64_t at = 0;  // where it begins in `text`
  };
  std::vector<Term> terms = {};
  std::string text = {};  // as it was written

  bool holds(const HeadScores& head) const;
  /// How far the head is from passing: the distance to each bound or range, summed over the terms.
  double distance(const HeadScores& head) const;
};

/// Errors (kInvalidArgument) say what was found at which character, and what was expected there.
HeadFilter parse_head_filter(std::string_view text);

/// Throws unless every score that it names is one of `scores` or the short form of one.
void check_head_filter(const HeadFilter& filter, std::span<const std::string_view> scores);

}  // namespace heed
