// A session: its tokens, progress and error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/models.h"
#include "inspect/session/images.h"

namespace heed {

struct TokenAnswer {
  std::int64_t index = 0;
  SessionToken token = {};
  bool special = false;
  void describe(auto& field) const {
    HEED_FIELDS(field, index, token.id);
    field("text", token_text(token.bytes));
    field("bytes", token_hex(token.bytes));
    HEED_FIELDS(field, token.begin, token.end);
    field("special", special ? std::optional<bool>(true) : std::nullopt);
  }
};

// The first token of each unit. Characters are omitted if each token is one character or several.
struct TokenUnitsAnswer {
  TokenUnits units = {};
  std::int64_t tokens = 0;
  void describe(auto& field) const {
    const bool splits = std::ssize(units.characters) < tokens;
    field("characters", splits ? std::optional(units.characters) : std::nullopt);
    HEED_FIELDS(field, units.words, units.sentences);
  }
};

struct ApiErrorAnswer {
  std::string code = {};
  std::string message = {};
  std::optional<std::string> argument = {}, found = {}, expected = {}, hint = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, code, message, argument, found, expected, hint);
  }
};

struct AttentionAnswer {
  StackShape shape = {};
  MatrixSize size = {};
  std::string query_tokens = {}, key_tokens = {};  // which list of the session these are
  std::optional<std::vector<int>> kept = {};       // the layers that can be looked at; none: all
  int zooms = 0;
  std::int64_t tile = 0;
  void describe(auto& field) const {
    HEED_FIELDS(field, shape.stack, shape.layers);
    field("attending", attending_of(shape));
    HEED_FIELDS(field, shape.heads, shape.kv_heads);
    field("kv_heads_of_layers", kv_heads_of_layers(shape));
    HEED_FIELDS(field, shape.causal, size.queries, size.keys, query_tokens, key_tokens);
    field("rectangular", query_tokens != key_tokens);
    HEED_FIELDS(field, kept, zooms, tile);
  }
};

void describe(auto& field, const SessionImage& image) {
  HEED_FIELDS(field, image.of_queries, image.of_keys, image.rows, image.columns, image.tokens);
  field("picture", picture_url(image));
  field("name", image.name);
}

struct SessionAnswer {
  std::string session = {};
  std::string model = {};
  std::string text = {};
  std::optional<std::string> pair = {}, target = {};  // as given
  std::optional<std::string> chat = {};  // the template's text, in which `text` is a message
  std::optional<std::string> edits = {}, derived_from = {};
  std::string state = {};  // running, ready or failed
  std::optional<ApiErrorAnswer> error = {};
  std::int64_t heads_done = 0;  // layers with finished statistics
  std::vector<TokenAnswer> tokens = {};
  std::optional<std::vector<TokenAnswer>> key_tokens = {};
  TokenUnitsAnswer units = {};                     // of tokens
  std::optional<TokenUnitsAnswer> key_units = {};  // of key_tokens
  std::optional<std::int64_t> split = {};          // the first token of the second text
  std::optional<std::vector<SessionImage>> images = {};
  std::vector<AttentionAnswer> attentions = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, session, model, text, pair, target, chat, edits, derived_from, state, error,
                heads_done, tokens, key_tokens, units, key_units, split, images, attentions);
  }
};

}  // namespace heed
