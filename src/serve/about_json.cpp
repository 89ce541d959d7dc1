#include "serve/about_json.h"

#include "heed/base/version.h"
#include "inspect/answers/json_text.h"
#include "inspect/heads/statistics.h"

namespace heed::server {
namespace {

std::string model_json(const LoadedModel& model, const std::string& more) {
  const ModelInfo& info = model.model->info();
  return fmt::format(
      R"({{"name":{},"built_in":{},"family":{},"title":{},"layers":{},"heads":{},"kv_heads":{},)"
      R"("width":{},"head_dim":{},"vocabulary":{},"positions":{},"causal":{},"has_words":{}{}}})",
      json_string(model.name), model.built_in, json_string(info.family), json_string(info.title),
      info.layers, info.heads, info.kv_heads, info.width, info.head_dim, info.vocabulary,
      info.positions, info.causal, info.has_logits,
      fmt::format(
          R"(,"stacks":[{{"stack":"self","layers":{},"heads":{},"kv_heads":{},"causal":{}}}]{})",
          info.layers, info.heads, info.kv_heads, info.causal, more));
}

std::string limits_json(const ServerLimits& limits, const ModelInfo& info) {
  return fmt::format(
      R"({{"text_bytes":{},"body_bytes":{},"tokens":{},"sessions":{},"session_bytes":{},)"
      R"("streams":{}}})",
      limits.text_bytes, limits.body_bytes, info.positions, limits.sessions, limits.session_bytes,
      limits.streams);
}

}  // namespace

std::string about_json(const LoadedModel& model, const ServerLimits& limits,
                       const std::string& text, const std::string& more,
                       const std::string& model_more) {
  const ModelInfo& info = model.model->info();
  const auto score = [](const ScoreName& name) {
    return fmt::format(R"({{"name":"{}","short":"{}","about":"{}"}})", name.name, name.label,
                       name.about);
  };
  const std::string described = model_json(model, model_more);
  return fmt::format(
      R"({{"heed":"{}","models":[{}],"model":{},"text":{},"limits":{},"scores":{}{}}})", version(),
      described, described, text, limits_json(limits, info),
      json_list(score_names(info.causal), score), more);
}

}  // namespace heed::server
