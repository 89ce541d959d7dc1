// The output of `heed look --format json`. Lists are written item by item, so a whole text's
// weights need no second copy.
#pragma once

#include "inspect/answers/heads.h"
#include "inspect/answers/rows.h"

namespace heed {

/// A token of a look, as text, since programs find it by its index.
struct LookTokenAnswer {
  std::int64_t index = 0;
  const SessionToken& token;
  void describe(auto& field) const {
    field("index", index);
    field("text", token_text(token.bytes));
    field("bytes", token_hex(token.bytes));
    HEED_FIELDS(field, token.begin, token.end);
  }
};

/// A weight and the token at its other end: the key in a row, the query in a column.
struct LookWeightAnswer {
  const char* side = "key";
  std::int64_t at = 0;
  std::string token = {};
  float weight = 0;
  void describe(auto& field) const {
    field(side, at);
    HEED_FIELDS(field, token, weight);
  }
};

struct LookAnswer {
  const Look& look;

  void describe(auto& field) const;
};

inline std::string token_at(const std::vector<SessionToken>& tokens, std::int64_t index) {
  return token_text(tokens[static_cast<std::size_t>(index)].bytes);
}

struct LookRowAnswer {
  const Look& look;
  const LookRow& row;
  void describe(auto& field) const {
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
  const Look& look;
  const LookColumn& column;
  void describe(auto& field) const {
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
  const HeadScores& head;
  bool causal = false;
  void describe(auto& field) const {
    describe_place(field, head.place);
    describe_scores(field, head.values, causal);
    field("adjusted", AdjustedAnswer{head.adjusted, causal});
    describe_sides(field, head);
  }
};

struct LookReasonAnswer {
  const ChosenHead& chosen;
  void describe(auto& field) const {
    HEED_FIELDS(field, chosen.reason, chosen.query, chosen.key, chosen.score);
  }
};

void describe(auto& field, const NextWord& word) {
  field("token", token_text(word.bytes));
  HEED_FIELDS(field, word.id, word.probability);
}

void describe(auto& field, const FilledMask& mask) {
  field("index", mask.at);
  field("words", mask.words.words);
}

void LookAnswer::describe(auto& field) const {
  const auto token = [&](const std::vector<SessionToken>& tokens) {
    return [&](const SessionToken& one) { return LookTokenAnswer{&one - tokens.data(), one}; };
  };
  const Place place{look.chosen.stack, look.chosen.layer, look.chosen.head};
  HEED_FIELDS(field, look.model, place.stack);
  field.list("tokens", look.tokens, token(look.tokens));
  if (!look.key_tokens.empty()) field.list("key_tokens", look.key_tokens, token(look.key_tokens));
  HEED_FIELDS(field, look.split, place.layer, place.head);
  field("chosen", LookReasonAnswer{look.chosen});
  field.list("rows", look.rows, [&](const LookRow& row) { return LookRowAnswer{look, row}; });
  if (!look.columns.empty())
    field.list("columns", look.columns,
               [&](const LookColumn& column) { return LookColumnAnswer{look, column}; });
  if (!look.cells.empty())
    field.list("cells", look.cells, [&](const LookCell& cell) { return CellAnswer{place, cell}; });
  field.list("heads", look.heads,
             [&](const HeadScores& head) { return LookHeadAnswer{head, look.info.causal}; });
  field("next", look.next.words);
  if (!look.filled.empty()) field("filled", look.filled);
}

}  // namespace heed
