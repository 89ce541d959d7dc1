// The served models, with stacks, scores and limits.
#pragma once

#include <cstdint>
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

struct StackAnswer {
  StackShape shape = {};
  void describe(auto& field) const {
    field("stack", std::string(stack_name(shape.stack)));
    field("layers", shape.layers);
    field("attending", attending_of(shape));
    field("heads", shape.heads);
    field("kv_heads", shape.kv_heads);
    field("causal", shape.causal);
  }
};

/// The heads of a stack that a saved page contains.
struct HeldStackAnswer {
  Stack stack = Stack::kSelf;
  std::vector<std::vector<int>> layers = {};
  void describe(auto& field) const {
    field("stack", std::string(stack_name(stack)));
    field("layers", layers);
  }
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
    field("name", name);
    field("built_in", built_in);
    field("family", info.family);
    field("title", info.title);
    field("layers", info.layers);
    field("heads", info.heads);
    field("kv_heads", info.kv_heads);
    field("width", info.width);
    field("head_dim", info.head_dim);
    field("vocabulary", info.vocabulary);
    field("positions", info.positions);
    field("causal", info.causal);
    field("has_words", info.writes());
    field("fills_masks", info.has_logits && !info.writes());
    field("takes_pair", takes_pair);
    field("takes_target", takes_target);
    field("runs", runs);
    field("stacks", stacks);
    field("held", held);
    field("held_view", held_view);
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
    field("text_bytes", text_bytes);
    field("body_bytes", body_bytes);
    field("tokens", tokens);
    field("sessions", sessions);
    field("session_bytes", session_bytes);
    field("streams", streams);
  }
};

struct PictureAnswer {
  std::string format = {};
  int width = 0;
  std::optional<std::string> panel = {};  // only this panel of the view
  void describe(auto& field) const {
    field("format", format);
    field("width", width);
    field("panel", panel);
  }
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
    field("models", models);
    field("text", text);
    field("pair", pair);
    field("target", target);
    field("stack", stack);
    field("chats", chats);
    field("limits", limits);
    field("scores", scores);
    field("picture", picture);
    field("steps", steps);
  }
};

}  // namespace heed
