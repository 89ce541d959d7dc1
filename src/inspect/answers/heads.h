// What heads do, and the next words.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/fields.h"

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
    field("a_to_a", shares.a_to_a);
    field("a_to_b", shares.a_to_b);
    field("b_to_a", shares.b_to_a);
    field("b_to_b", shares.b_to_b);
    field("to_first", shares.to_first);
  }
};

void describe(auto& field, const SourceOrder& order) {
  field("in_order", order.in_order);
  field("peak", order.peak);
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
  void describe(auto& field) const {
    field("stack", std::string(stack_name(stack)));
    field("layer", layer);
    field("heads", heads);
    field("done", done);
    field("of", of);
  }
};

struct HeadsAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t done = 0, of = 0;
  std::vector<LayerHeadsAnswer> layers = {};
  void describe(auto& field) const {
    field("stack", std::string(stack_name(stack)));
    field("done", done);
    field("of", of);
    field("layers", layers);
  }
};

struct ChosenAnswer {
  ChosenHead chosen = {};
  void describe(auto& field) const {
    describe_place(field, {chosen.stack, chosen.layer, chosen.head});
    field("query", chosen.query);
    field("key", chosen.key);
    field("score", chosen.score);
    field("reason", chosen.reason);
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
    field("probability", probability);
    field("logit", logit);
  }
};

struct RestWordsAnswer {
  std::int64_t count = 0;
  float probability = 0;
  void describe(auto& field) const {
    field("count", count);
    field("probability", probability);
  }
};

struct NextAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;
  std::vector<WordAnswer> words = {};
  RestWordsAnswer rest = {};
  std::optional<bool> masked = {};  // the token at the position was masked
  void describe(auto& field) const {
    field("stack", std::string(stack_name(stack)));
    field("position", position);
    field("words", words);
    field("rest", rest);
    field("masked", masked);
  }
};

}  // namespace heed
