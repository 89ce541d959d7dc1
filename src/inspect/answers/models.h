// The served models, with stacks, scores and limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heed/look.h"
#include "inspect/answers/fields.h"

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

}  // namespace heed
