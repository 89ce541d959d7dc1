// What the score of a head rests on: its rows, one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/heads/late_scores.h"
#include "inspect/heads/scores.h"

namespace heed {

/// A row that speaks most against the score, with the key that has its largest weight.
struct WorstRow {
  std::int64_t row = 0;
  double value = 0;
  std::optional<std::int64_t> key = {};  // none where the score is not one of weights
  double weight = 0;
};

struct HeadEvidence {
  Place place;
  std::string score;
  bool is_of_keys = false;                        // `rows` and `worst` are of keys
  std::int64_t first_row = 0;                     // that `rows` begins with
  std::vector<float> rows = {};                   // the value of each; NaN: the row does not count
  std::int64_t counted = 0;                       // rows that count
  std::optional<std::int64_t> first_of_row = {};  // of these, where the largest weight counts
  std::int64_t profile_begin = 0;                 // tokens back of the profile's first entry
  std::vector<float> profile = {};                // mean weight by distance
  std::vector<WorstRow> worst = {};
};

struct EvidenceRequest {
  Place place;
  std::size_t score = 0;  // as score_infos()
  ScoreForm form = ScoreForm::kRaw;
};

/// kNotFound where such an attention or model has no such score.
HeadEvidence head_evidence(LateScores& late, const EvidenceRequest& request, Cancel& cancel);

}  // namespace heed
