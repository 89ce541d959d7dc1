// What heads do, the evidence for their scores, heads with similar patterns, and the next words.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/fields.h"
#include "inspect/heads/head_evidence.h"
#include "inspect/heads/similar_heads.h"

namespace heed {

/// The scores of a head by name, without undefined ones and without those that look ahead in causal
/// attention.
void describe_scores(auto& field, const std::vector<double>& values, bool causal) {
  for (std::size_t i = 0; i < score_infos().size(); ++i) {
    const ScoreInfo& info = score_infos()[i];
    const bool there = i < values.size() && !std::isnan(values[i]);
    const bool shown = there && !(info.looks_ahead && causal);
    field(info.name, shown ? std::optional<double>(values[i]) : std::nullopt);
  }
}

/// The sink-adjusted scores.
struct AdjustedAnswer {
  std::vector<double> values = {};
  bool causal = false;
  void describe(auto& field) const { describe_scores(field, values, causal); }
};

struct SharesAnswer {
  PairShares shares = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, shares.a_to_a, shares.a_to_b, shares.b_to_a, shares.b_to_b, shares.to_first);
  }
};

void describe(auto& field, const SourceOrder& order) {
  HEED_FIELDS(field, order.in_order, order.peak);
}

/// Additional scores of a pair or a cross-attention.
void describe_sides(auto& field, const HeadScores& head) {
  field("shares", head.shares ? std::optional(SharesAnswer{*head.shares}) : std::nullopt);
  field("order", head.order);
}

struct HeadAnswer {
  HeadScores scores = {};
  bool causal = false;
  std::vector<float> profile = {};
  void describe(auto& field) const {
    field("head", scores.place.head);
    describe_scores(field, scores.values, causal);
    field("adjusted", AdjustedAnswer{scores.adjusted, causal});
    field("profile", profile);
    describe_sides(field, scores);
  }
};

struct LayerHeadsAnswer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::vector<HeadAnswer> heads = {};
  std::optional<std::int64_t> done = {}, of = {};  // in a stream: finished layers, and all layers
  void describe(auto& field) const { HEED_FIELDS(field, stack, layer, heads, done, of); }
};

struct HeadsAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t done = 0, of = 0;
  std::vector<LayerHeadsAnswer> layers = {};
  void describe(auto& field) const { HEED_FIELDS(field, stack, done, of, layers); }
};

struct ChosenAnswer {
  ChosenHead chosen = {};
  void describe(auto& field) const {
    describe_place(field, {chosen.stack, chosen.layer, chosen.head});
    HEED_FIELDS(field, chosen.query, chosen.key, chosen.score, chosen.reason);
  }
};

struct WordAnswer {
  TokenId id = 0;
  std::string word = {};
  float probability = 0;
  std::optional<float> logit = {};
  void describe(auto& field) const {
    field("id", id);
    field("text", token_text(word));
    field("bytes", token_hex(word));
    HEED_FIELDS(field, probability, logit);
  }
};

struct RestWordsAnswer {
  std::int64_t count = 0;
  float probability = 0;
  void describe(auto& field) const { HEED_FIELDS(field, count, probability); }
};

struct NextAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;
  std::vector<WordAnswer> words = {};
  RestWordsAnswer rest = {};
  std::optional<bool> masked = {};  // the token at the position was masked
  void describe(auto& field) const { HEED_FIELDS(field, stack, position, words, rest, masked); }
};

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
