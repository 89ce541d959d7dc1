#include "inspect/answers/session_json.h"

#include <algorithm>

#include "inspect/answers/json_text.h"
#include "inspect/map/tiles.h"

namespace heed::server {
namespace {

std::string token_json(const LiveSession& session, std::size_t index) {
  const SessionToken& token = session.tokens()[index];
  const Tokenizer* tokenizer = session.tokenizer();
  const bool special = tokenizer != nullptr && tokenizer->is_special(token.id);
  return fmt::format(R"({{"index":{},"id":{},{},"begin":{},"end":{}{}}})", index, token.id,
                     json_token_text(token.bytes), token.begin, token.end,
                     special ? R"(,"special":true)" : "");
}

std::string state_json(const LiveSession::Progress& progress) {
  if (progress.failed) {
    std::string error = error_json(*progress.failed);  // {"error":{...}}
    return R"("state":"failed",)" + error.substr(1, error.size() - 2);
  }
  return progress.ready ? R"("state":"ready")" : R"("state":"running")";
}

}  // namespace

std::string session_json(const std::string& model, const LiveSession& session) {
  const LiveSession::Progress progress = session.progress();
  const ModelInfo& info = session.info();
  std::string tokens;
  for (std::size_t index = 0; index < session.tokens().size(); ++index)
    tokens.append(index == 0 ? "" : ",").append(token_json(session, index));
  return fmt::format(
      R"({{"session":"{}","model":{},"text":{},"length":{},{},"tokens":[{}],"zooms":{},)"
      R"("tile":{},"heads_done":{},"attentions":[{{"stack":"self","layers":{},"heads":{},)"
      R"("kv_heads":{},"queries":{},"keys":{},"zooms":{},"tile":{}}}]}})",
      session.id, json_string(model), json_string(session.text), session.length(),
      state_json(progress), tokens, zoom_levels(session.length()), kTile, progress.order.size(),
      info.layers, info.heads, info.kv_heads, session.length(), session.length(),
      zoom_levels(session.length()), kTile);
}

std::string next_json(const LiveSession& session, std::int64_t position, std::int64_t top) {
  const NextWords& words = session.next(position);
  const std::int64_t count = std::min(top, std::ssize(words.words));
  std::int64_t rest_count = words.rest_count + std::ssize(words.words) - count;
  double rest = words.rest_probability;
  std::string list;
  for (std::int64_t at = 0; at < std::ssize(words.words); ++at) {
    const NextWord& word = words.words[static_cast<std::size_t>(at)];
    if (at >= count) {
      rest += word.probability;
      continue;
    }
    list +=
        fmt::format(R"({}{{"id":{},{},"probability":{}}})", at == 0 ? "" : ",", word.id,
                    json_token_text(word.bytes), json_number(static_cast<float>(word.probability)));
  }
  return fmt::format(
      R"({{"stack":"self","position":{},"words":[{}],"rest":{{"count":{},"probability":{}}}}})",
      position, list, rest_count, json_number(static_cast<float>(rest)));
}

std::string chosen_json(const ChosenHead& chosen) {
  return fmt::format(R"({{"stack":"self","layer":{},"head":{},"score":{},"reason":{}}})",
                     chosen.layer, chosen.head, json_number(chosen.score),
                     json_string(chosen.reason));
}

std::string layer_json(const LiveSession& session, const LayerHeads& heads, int layer) {
  return fmt::format(R"({{"stack":"self","layer":{},"heads":{})", layer,
                     heads_json(*heads, session.info().causal));
}

}  // namespace heed::server
