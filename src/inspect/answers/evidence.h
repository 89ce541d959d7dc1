// What scores of heads rest on, scores that take passes of the model, heads that resemble another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/heads.h"
#include "inspect/heads/head_evidence.h"
#include "inspect/heads/similar_heads.h"

namespace heed {

/// Scores of one head that take passes of the model, by name; absent where the model has none.
struct LateScoresAnswer {
  static constexpr const char* kName = "LateScores";
  Place place = {};
  std::vector<double> values = {};  // as score_infos(), NaN where not there
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, place);
    describe_scores(field, values, /*causal=*/false);
  }
};

struct WorstRowAnswer {
  static constexpr const char* kName = "WorstRow";
  WorstRow row = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("row", row.row);
    field("value", row.value);
    field("key", row.key);
    field("weight", row.key ? std::optional(row.weight) : std::nullopt);
  }
};

/// The head that the evidence is held against.
struct RunnerUpAnswer {
  static constexpr const char* kName = "RunnerUp";
  Place place = {};
  std::vector<float> profile = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, place);
    field("profile", profile);
  }
};

struct EvidenceAnswer {
  static constexpr const char* kName = "Evidence";
  HeadEvidence evidence = {};
  std::optional<RunnerUpAnswer> runner_up = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, evidence.place);
    field("score", evidence.score);
    field("of_keys", evidence.is_of_keys ? std::optional(true) : std::nullopt);
    field("first_row", evidence.first_row);
    field("rows", Masked{evidence.rows});
    field("counted", evidence.counted);
    field("first_of_row", evidence.first_of_row);
    field("profile_begin", evidence.profile_begin);
    field("profile", evidence.profile);
    std::vector<WorstRowAnswer> worst;
    for (const WorstRow& row : evidence.worst) worst.push_back({row});
    field("worst", worst);
    field("runner_up", runner_up);
  }
};

struct SimilarHeadAnswer {
  static constexpr const char* kName = "SimilarHead";
  SimilarHead head = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, head.place);
    field("overlap", head.overlap);
  }
};

struct SimilarAnswer {
  static constexpr const char* kName = "Similar";
  std::vector<SimilarHeadAnswer> heads = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("heads", heads);
  }
};

struct ChangedHeadAnswer {
  static constexpr const char* kName = "ChangedHead";
  Place place = {};
  double change = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, place);
    field("change", change);
  }
};

/// Which tokens of two sessions stand for each other.
struct AlignmentAnswer {
  static constexpr const char* kName = "Alignment";
  std::vector<std::vector<std::int64_t>> pairs = {};  // begin and end in A, begin and end in B
  std::string said = {};                              // what does not line up; empty: all does
  template <typename Fields>
  void describe(Fields& field) const {
    field("pairs", pairs);
    field("said", said);
  }
};

/// How much each head's weights differ between two sessions, the most changed head first.
struct ChangesAnswer {
  static constexpr const char* kName = "Changes";
  std::int64_t rows = 0;  // that were compared
  std::vector<ChangedHeadAnswer> heads = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("rows", rows);
    field("heads", heads);
  }
};

}  // namespace heed
