// The served models, with stacks, scores and limits, and their sessions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"
#include "inspect/answers/fields.h"
#include "inspect/session/images.h"

namespace heed {

struct ScoreAnswer {
  ScoreInfo info = {};
  void describe(auto& field) const {
    field("name", std::string(info.name));
    field("short", std::string(info.short_name));
    field("about", std::string(info.about));
    field("share", info.is_share);
    field("title", std::string(info.title));
    field("unit", std::string(unit_name(info.unit)));
    field("from", std::string(from_name(info.from)));
    field("threshold", info.threshold > 0 ? std::optional<double>(info.threshold) : std::nullopt);
  }
};

/// The layers of a stack that have attention; none: all.
inline std::optional<std::vector<int>> attending_of(const StackShape& shape) {
  return shape.attending.empty() ? std::nullopt : std::optional(shape.attending);
}

/// The heads of keys and values in each layer, if layers differ in it.
inline std::optional<std::vector<int>> kv_heads_of_layers(const StackShape& shape) {
  std::vector<int> counts;
  for (int layer = 0; layer < std::ssize(shape.of_layers); ++layer)
    counts.push_back(shape.keys_of(layer).kv_heads);
  if (std::ranges::adjacent_find(counts, std::not_equal_to()) == counts.end()) return {};
  return counts;
}

struct StackAnswer {
  StackShape shape = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, shape.stack, shape.layers);
    field("attending", attending_of(shape));
    HEED_FIELDS(field, shape.heads, shape.kv_heads);
    field("kv_heads_of_layers", kv_heads_of_layers(shape));
    HEED_FIELDS(field, shape.causal);
  }
};

/// The heads of a stack that a saved page contains.
struct HeldStackAnswer {
  Stack stack = Stack::kSelf;
  std::vector<std::vector<int>> layers = {};
  void describe(auto& field) const { HEED_FIELDS(field, stack, layers); }
};

struct ModelAnswer {
  std::string name = {};
  bool built_in = false;
  ModelInfo info = {};
  std::vector<StackAnswer> stacks = {};
  bool takes_pair = false;
  bool takes_target = false;
  bool runs = false;  // a model can run: words and effects can be computed
  std::optional<std::vector<HeldStackAnswer>> held = {};  // in a saved page
  /// In a saved page: words, flow, why or anatomy, if the file contains its answer.
  std::optional<std::string> held_view = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, name, built_in, info.family, info.title, info.layers, info.heads,
                info.kv_heads, info.width, info.head_dim, info.vocabulary, info.positions,
                info.causal);
    field("has_words", info.writes());
    field("fills_masks", info.has_logits && !info.writes());
    HEED_FIELDS(field, takes_pair, takes_target, runs, stacks, held, held_view);
  }
};

/// The models of this machine, the served one first.
struct FoundModelsAnswer {
  std::vector<ModelAnswer> models = {};
  void describe(auto& field) const { field("models", models); }
};

struct LimitsAnswer {
  std::int64_t text_bytes = 0;
  std::int64_t body_bytes = 0;
  std::int64_t tokens = 0;
  std::int64_t sessions = 0;
  std::int64_t session_bytes = 0;
  std::int64_t streams = 0;
  void describe(auto& field) const {
    HEED_FIELDS(field, text_bytes, body_bytes, tokens, sessions, session_bytes, streams);
  }
};

struct PictureAnswer {
  std::string format = {};
  int width = 0;
  std::optional<std::string> panel = {};  // only this panel of the view
  void describe(auto& field) const { HEED_FIELDS(field, format, width, panel); }
};

struct ModelsAnswer {
  std::string version = {};
  std::vector<ModelAnswer> models = {};  // the first one is served
  Nullable<std::string> text = {};
  std::optional<std::string> pair = {}, target = {}, stack = {};  // initial content of the page
  std::optional<bool> chats = {};  // true: a text is a user's message, for the chat template
  LimitsAnswer limits = {};
  std::vector<ScoreAnswer> scores = {};
  std::optional<PictureAnswer> picture = {};
  std::optional<std::vector<std::int64_t>> steps = {};  // of a watched training run: its models
  void describe(auto& field) const {
    field("heed", version);
    HEED_FIELDS(field, models, text, pair, target, stack, chats, limits, scores, picture, steps);
  }
};

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
    StackAnswer{shape}.describe(field);
    HEED_FIELDS(field, size.queries, size.keys, query_tokens, key_tokens);
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
