#include "models/chat_template.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/file.h"
#include "heed/error.h"
#include "heed/model.h"
#include "io/gguf.h"
#include "models/adapter.h"
#include "text/files/config_tokens.h"
#include "text/jinja/template.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOfGguf = "tokenizer.chat_template";

JsonText json_of(const fs::path& file) {
  return JsonText::parse(fs::exists(file) ? read_file(file) : "{}", {.file = file.string()});
}

// Finds a template in a list of {"name": "default", "template": "..."}.
const Json* named(const Json& list, std::string_view name) {
  for (const Json& entry : list.items())
    if (entry["name"] == Json(name)) return &entry["template"];
  return nullptr;
}

std::optional<ChatTemplate> template_of_config(const fs::path& file, bool has_tools) {
  const JsonText config = json_of(file);
  const Json* own = &config.root()["chat_template"];
  if (own->is_null()) return {};
  if (own->is_array()) {
    const Json* with_tools = has_tools ? named(*own, "tool_use") : nullptr;
    const Json* plain = with_tools != nullptr ? with_tools : named(*own, "default");
    if (plain == nullptr) config.refuse(*own, "chat_template", "a list with a template 'default'");
    own = plain;
  }
  if (!own->is_text()) config.refuse(*own, "chat_template", "a text, or a list of names and texts");
  return ChatTemplate{*own->as_text(), file.string() + ": chat_template"};
}

Json tokens_of_gguf(const Gguf& file) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"bos", "bos_token"},       {"eos", "eos_token"},     {"unknown", "unk_token"},
      {"seperator", "sep_token"}, {"padding", "pad_token"}, {"mask", "mask_token"},
      {"cls", "cls_token"}};
  Json tokens = Json::object();
  const std::span<const Json> pieces = file["tokenizer.ggml.tokens"].items();
  for (const auto& [key, name] : kNames) {
    const auto id = file[fmt::format("tokenizer.ggml.{}_token_id", key)].as_whole_number();
    if (id && *id >= 0 && *id < std::ssize(pieces))
      tokens.set(name, pieces[static_cast<std::size_t>(*id)]);
  }
  return tokens;
}

std::optional<ChatTemplate> own_template(const fs::path& model, bool has_tools) {
  if (is_gguf(model)) {
    const Gguf file = Gguf::open(model);
    const std::string* source = file[kOfGguf].as_text();
    if (source == nullptr) return {};
    return ChatTemplate{*source, model.string() + ": " + kOfGguf};
  }
  const fs::path whole = model / "chat_template.jinja";
  const fs::path tools = model / "additional_chat_templates" / "tool_use.jinja";
  std::error_code ignored;
  for (const fs::path& file : {has_tools ? tools : whole, whole})
    if (fs::is_regular_file(file, ignored)) return ChatTemplate{read_file(file), file.string()};
  return template_of_config(model / "tokenizer_config.json", has_tools);
}

}  // namespace

std::optional<ChatTemplate> find_chat_template(const fs::path& model, bool has_tools) {
  std::optional<ChatTemplate> own = own_template(model, has_tools);
  return own || !is_adapter(model) ? own : own_template(base_model(model), has_tools);
}

Json named_special_tokens(const fs::path& model) {
  const bool has_own = std::filesystem::exists(model / "tokenizer_config.json");
  if (is_adapter(model) && !has_own) return named_special_tokens(base_model(model));
  if (is_gguf(model)) return tokens_of_gguf(Gguf::open(model));
  Json tokens = Json::object();
  for (const char* file : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const JsonText config = json_of(model / file);
    for (const auto& [key, value] : config.root().members()) {
      if (!key.ends_with("_token") || value.as_flag()) continue;
      const std::string name = token_name(config.root(), key, "");
      tokens.set(key, name.empty() ? Json() : Json(name));
    }
  }
  return tokens;
}

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
