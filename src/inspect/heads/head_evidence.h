// The evidence for a head's score: its rows, one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {

/// A row that contradicts the score most, with the key of its largest weight.
struct WorstRow {
  std::int64_t row = 0;
  double value = 0;
  std::optional<std::int64_t> key = {};  // empty if the score is not computed from weights
  double weight = 0;
};

struct HeadEvidence {
  Place place;
  std::string score;
  bool is_of_keys = false;                        // `rows` and `worst` are keys
  std::int64_t first_row = 0;                     // index of the first entry in `rows`
  std::vector<float> rows = {};                   // value per row; NaN: the row does not count
  std::int64_t counted = 0;                       // number of rows that count
  std::optional<std::int64_t> first_of_row = {};  // rows among these whose largest weight counts
  std::int64_t profile_begin = 0;                 // distance of the profile's first entry, back
  std::vector<float> profile = {};                // mean weight by distance
  std::vector<WorstRow> worst = {};
};

struct EvidenceRequest {
  Place place;
  std::size_t score = 0;  // index in score_infos()
  ScoreForm form = ScoreForm::kRaw;
};

/// kNotFound if this attention or model has no such score.
HeadEvidence head_evidence(LateScores& late, const EvidenceRequest& request, Cancel& cancel);

}  // namespace heed
