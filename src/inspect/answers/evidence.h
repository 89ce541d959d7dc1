// The evidence for heads' scores, scores that need passes of the model, and heads with similar
// patterns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/heads.h"
#include "inspect/heads/head_evidence.h"
#include "inspect/heads/similar_heads.h"

namespace heed {

/// One head's scores that need passes of the model, by name; absent if the model has none.
struct LateScoresAnswer {
  Place place = {};
  std::vector<double> values = {};  // in the order of score_infos(); NaN if undefined
  void describe(auto& field) const {
    describe_place(field, place);
    describe_scores(field, values, /*causal=*/false);
  }
};

void describe(auto& field, const WorstRow& row) {
  HEED_FIELDS(field, row.row, row.value, row.key);
  field("weight", row.key ? std::optional(row.weight) : std::nullopt);
}

/// The head with which the evidence is compared.
struct RunnerUpAnswer {
  Place place = {};
  std::vector<float> profile = {};
  void describe(auto& field) const {
    describe_place(field, place);
    field("profile", profile);
  }
};

struct EvidenceAnswer {
  HeadEvidence evidence = {};
  std::optional<RunnerUpAnswer> runner_up = {};
  void describe(auto& field) const {
    describe_place(field, evidence.place);
    field("score", evidence.score);
    field("of_keys", evidence.is_of_keys ? std::optional(true) : std::nullopt);
    field("first_row", evidence.first_row);
    field("rows", Masked{evidence.rows});
    HEED_FIELDS(field, evidence.counted, evidence.first_of_row, evidence.profile_begin,
                evidence.profile, evidence.worst, runner_up);
  }
};

void describe(auto& field, const SimilarHead& head) {
  describe_place(field, head.place);
  field("overlap", head.overlap);
}

struct SimilarAnswer {
  std::vector<SimilarHead> heads = {};
  void describe(auto& field) const { field("heads", heads); }
};

struct ChangedHeadAnswer {
  Place place = {};
  double change = 0;
  void describe(auto& field) const {
    describe_place(field, place);
    field("change", change);
  }
};

/// Which tokens of two sessions correspond.
struct AlignmentAnswer {
  std::vector<std::vector<std::int64_t>> pairs = {};  // begin and end in A, begin and end in B
  std::string said = {};                              // which parts do not align; empty: all do
  void describe(auto& field) const { HEED_FIELDS(field, pairs, said); }
};

/// How much each head's weights differ between two sessions, the most changed head first.
struct ChangesAnswer {
  std::int64_t rows = 0;  // number of compared rows
  std::vector<ChangedHeadAnswer> heads = {};
  void describe(auto& field) const { HEED_FIELDS(field, rows, heads); }
};

}  // namespace heed
