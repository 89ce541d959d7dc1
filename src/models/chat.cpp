#include <fmt/format.h>

#include "base/formats/json.h"
#include "heed/error.h"
#include "heed/model.h"
#include "models/chat_template.h"
#include "text/jinja/template.h"

namespace heed {
namespace {

// Like transformers, treats null as absent.
Json without_nulls(const Json& messages) {
  Json kept = Json::array();
  for (const Json& message : messages.items()) {
    Json own = Json::object();
    for (const auto& [name, value] : message.members())
      if (!value.is_null()) own.add(name, value);
    kept.push(message.is_object() ? own : message);
  }
  return kept;
}

// If the files do not name such a token, the tokenizer's class has it: then it is the token that
// begins or ends the model's texts.
void add_missing_tokens(const LoadedModel& model, Json& tokens) {
  const ModelInfo& info = model.model->info();
  const auto add = [&](const char* name, std::int64_t id) {
    if (!tokens.has(name) && id >= 0 && model.tokenizer->has(static_cast<TokenId>(id)))
      tokens.set(name, model.tokenizer->piece(static_cast<TokenId>(id)));
  };
  add("bos_token", info.first_token);
  add("eos_token", info.end_tokens.empty() ? -1 : info.end_tokens.front());
}

// Omits tokens that the files set to null.
Json variables_of(const LoadedModel& model, const Json& given) {
  Json tokens = named_special_tokens(model.folder);
  add_missing_tokens(model, tokens);
  Json variables{{"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", false}};
  for (const auto& [name, value] : tokens.members())
    if (!value.is_null()) variables.set(name, value);
  for (const auto& [name, value] : given.members())
    variables.set(name, name == "messages" ? without_nulls(value) : value);
  return variables;
}

void require_tokenizer(const LoadedModel& model) {
  if (!model.tokenizer)
    fail({.op = "chat", .found = model.name + " has no tokenizer", .expected = "a model with one"});
}

ChatTemplate template_of(const LoadedModel& model, bool has_tools) {
  std::optional<ChatTemplate> own = find_chat_template(model.folder, has_tools);
  if (own) return *std::move(own);
  fail({.code = ErrorCode::kNotFound,
        .op = "chat",
        .file = model.folder.string(),
        .found = "has no chat template",
        .expected = "chat_template.jinja, chat_template in tokenizer_config.json, or "
                    "tokenizer.chat_template in a GGUF file"});
}

}  // namespace

std::string chat_text(const LoadedModel& model, std::string_view variables,
                      std::string_view chat_template) {
  require_tokenizer(model);
  const JsonText given = JsonText::parse(std::string(variables), {.file = "chat"});
  if (given.root()["messages"].items().empty())
    fail("chat", "messages", given.root()["messages"].brief(), "a list of at least one message");
  const bool has_tools = !given.root()["tools"].items().empty();
  const ChatTemplate own = chat_template.empty()
                               ? template_of(model, has_tools)
                               : ChatTemplate{std::string(chat_template), "chat_template"};
  return render_template(own.source, variables_of(model, given.root()), own.file);
}

std::string chat_text(const LoadedModel& model, std::span<const ChatMessage> messages) {
  Json list = Json::array();
  for (const ChatMessage& message : messages)
    list.push(Json({{"role", message.role}, {"content", message.content}}));
  return chat_text(model, Json({{"messages", list}, {"add_generation_prompt", true}}).dump());
}

Encoding encode_chat(const LoadedModel& model, std::string_view text) {
  require_tokenizer(model);
  return model.tokenizer->encode(text, /*add_special=*/false);
}

}  // namespace heed
