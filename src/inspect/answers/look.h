// The output of `heed look --format json`. Lists are written item by item, so a whole text's
// weights need no second copy.
#pragma once

#include "inspect/answers/cells.h"
#include "inspect/answers/heads.h"

namespace heed {

/// A token of a look, as text, since programs find it by its index.
struct LookTokenAnswer {
  static constexpr const char* kName = "LookToken";
  std::int64_t index = 0;
  const SessionToken& token;
  template <typename Fields>
  void describe(Fields& field) const {
    field("index", index);
    field("text", token_text(token.bytes));
    field("bytes", token_hex(token.bytes));
    field("begin", token.begin);
    field("end", token.end);
  }
};

/// A weight and the token at its other end: the key in a row, the query in a column.
struct LookWeightAnswer {
  static constexpr const char* kName = "LookWeight";
  const char* side = "key";
  std::int64_t at = 0;
  std::string token = {};
  float weight = 0;
  template <typename Fields>
  void describe(Fields& field) const {
    field(side, at);
    field("token", token);
    field("weight", weight);
  }
};

struct LookAnswer {
  static constexpr const char* kName = "Look";
  const Look& look;

  template <typename Fields>
  void describe(Fields& field) const;
};

inline std::string token_at(const std::vector<SessionToken>& tokens, std::int64_t index) {
  return token_text(tokens[static_cast<std::size_t>(index)].bytes);
}

struct LookRowAnswer {
  static constexpr const char* kName = "LookRow";
  const Look& look;
  const LookRow& row;
  template <typename Fields>
  void describe(Fields& field) const {
    field("query", row.query);
    field("token", token_at(look.tokens, row.query));
    field("entropy", row.entropy);
    field.list("attends", row.attends, [&](const LookKey& key) {
      return LookWeightAnswer{"key", key.key, token_at(look.keys(), key.key), key.weight};
    });
    field("rest", RestAnswer{row.rest_count, row.rest_weight});
    field("sink", row.sink);
  }
};

struct LookColumnAnswer {
  static constexpr const char* kName = "LookColumn";
  const Look& look;
  const LookColumn& column;
  template <typename Fields>
  void describe(Fields& field) const {
    field("key", column.key);
    field("token", token_at(look.keys(), column.key));
    field("sum", column.sum);
    field.list("from", column.from, [&](const LookQuery& from) {
      return LookWeightAnswer{"query", from.query, token_at(look.tokens, from.query), from.weight};
    });
    field("rest", RestAnswer{column.rest_count, column.rest_weight});
  }
};

struct LookHeadAnswer {
  static constexpr const char* kName = "LookHead";
  const HeadScores& head;
  bool causal = false;
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, head.place);
    describe_scores(field, head.values, causal);
    field("adjusted", AdjustedAnswer{head.adjusted, causal});
    describe_sides(field, head);
  }
};

struct LookReasonAnswer {
  static constexpr const char* kName = "LookReason";
  const ChosenHead& chosen;
  template <typename Fields>
  void describe(Fields& field) const {
    field("reason", chosen.reason);
    field("query", chosen.query);
    field("key", chosen.key);
    field("score", chosen.score);
  }
};

struct LookWordAnswer {
  static constexpr const char* kName = "LookWord";
  const NextWord& word;
  template <typename Fields>
  void describe(Fields& field) const {
    field("token", token_text(word.bytes));
    field("id", word.id);
    field("probability", word.probability);
  }
};

struct FilledMaskAnswer {
  static constexpr const char* kName = "FilledMask";
  const FilledMask& mask;
  template <typename Fields>
  void describe(Fields& field) const {
    field("index", mask.at);
    field.list("words", mask.words.words,
               [](const NextWord& word) { return LookWordAnswer{word}; });
  }
};

template <typename Fields>
void LookAnswer::describe(Fields& field) const {
  const auto token = [&](const std::vector<SessionToken>& tokens) {
    return [&](const SessionToken& one) { return LookTokenAnswer{&one - tokens.data(), one}; };
  };
  const Place place{look.chosen.stack, look.chosen.layer, look.chosen.head};
  field("model", look.model);
  field("stack", std::string(stack_name(place.stack)));
  field.list("tokens", look.tokens, token(look.tokens));
  if (!look.key_tokens.empty()) field.list("key_tokens", look.key_tokens, token(look.key_tokens));
  field("split", look.split);
  field("layer", place.layer);
  field("head", place.head);
  field("chosen", LookReasonAnswer{look.chosen});
  field.list("rows", look.rows, [&](const LookRow& row) { return LookRowAnswer{look, row}; });
  if (!look.columns.empty())
    field.list("columns", look.columns,
               [&](const LookColumn& column) { return LookColumnAnswer{look, column}; });
  if (!look.cells.empty())
    field.list("cells", look.cells, [&](const LookCell& cell) { return CellAnswer{place, cell}; });
  field.list("heads", look.heads,
             [&](const HeadScores& head) { return LookHeadAnswer{head, look.info.causal}; });
  field.list("next", look.next.words, [](const NextWord& word) { return LookWordAnswer{word}; });
  if (!look.filled.empty())
    field.list("filled", look.filled,
               [](const FilledMask& mask) { return FilledMaskAnswer{mask}; });
}

}  // namespace heed
