#include "models/chat_template.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/file.h"
#include "io/gguf.h"
#include "models/adapter.h"
#include "text/files/config_tokens.h"

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

}  // namespace heed
