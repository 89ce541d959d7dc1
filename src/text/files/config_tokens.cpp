#include "text/files/config_tokens.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "text/files/readers.h"

namespace heed {
namespace {

TokenId id_of_key(const std::string& key) {
  TokenId id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  return error == std::errc() && end == key.data() + key.size() ? id_of(Json(id)) : -1;
}

// The names of a config's special tokens: {"eos_token": "</s>", "additional_special_tokens":
// [...]}.
void collect_names(const Json& value, std::vector<std::string>& names) {
  if (value.is_text()) names.push_back(*value.as_text());
  if (value["content"].is_text()) names.push_back(*value["content"].as_text());
  for (const Json& item : value.items()) collect_names(item, names);
}

std::vector<std::string> special_names_of(const Json& config) {
  std::vector<std::string> names;
  for (const auto& [key, value] : config.members())
    if (key.ends_with("_token") || key.ends_with("_special_tokens")) collect_names(value, names);
  return names;
}

JsonText read_json_file(const std::filesystem::path& path) {
  return JsonText::parse(std::filesystem::exists(path) ? content_of(path) : "{}",
                         {.file = path.string()});
}

// Like transformers, a token is special where another file names it as such.
std::vector<AddedToken> tokens_of_file(const JsonText& config,
                                       const std::filesystem::path& folder) {
  std::vector<std::string> special = special_names_of(config.root());
  std::ranges::copy(special_names_of(read_json_file(folder / "special_tokens_map.json").root()),
                    std::back_inserter(special));
  const JsonText file = read_json_file(folder / "added_tokens.json");
  if (!file.root().is_object())
    file.refuse(file.root(), "the whole", "an object of tokens and ids");
  std::vector<AddedToken> tokens;
  for (const auto& [content, value] : file.root().members()) {
    const TokenId id = id_of(value);
    if (content.empty() || id < 0)
      file.refuse(value, "the id of " + Json(content).brief(), "a whole number, of a token");
    const bool is_special = std::ranges::find(special, content) != special.end();
    tokens.push_back(
        {.content = content, .id = id, .special = is_special, .normalized = !is_special});
  }
  return tokens;
}

}  // namespace

std::vector<AddedToken> added_tokens_of(const JsonText& config,
                                        const std::filesystem::path& folder) {
  if (!config.root().has("added_tokens_decoder")) return tokens_of_file(config, folder);
  std::vector<AddedToken> tokens;
  for (const auto& [key, entry] : config.root()["added_tokens_decoder"].members()) {
    const std::string* content = entry["content"].as_text();
    const TokenId id = id_of_key(key);
    if (content == nullptr || content->empty() || id < 0)
      config.refuse(entry, "an entry of added_tokens_decoder",
                    "an id and an object with a 'content' that is not empty");
    const auto flag = [&](std::string_view name) { return entry[name].as_flag().value_or(false); };
    tokens.push_back({.content = *content,
                      .id = id,
                      .special = flag("special"),
                      .normalized = entry["normalized"].as_flag().value_or(!flag("special")),
                      .lstrip = flag("lstrip"),
                      .rstrip = flag("rstrip"),
                      .single_word = flag("single_word")});
  }
  return tokens;
}

std::string token_name(const Json& config, std::string_view member, std::string_view standard) {
  const Json& value = config[member];
  const std::string* name = value.is_text() ? value.as_text() : value["content"].as_text();
  return name == nullptr ? std::string(standard) : *name;
}

void add_tokens(const JsonText& config, const std::vector<AddedToken>& tokens,
                Vocabulary& vocabulary, std::vector<AddedToken>& added) {
  for (const AddedToken& token : tokens) {
    vocabulary.add(config, token.content, Json(token.id));
    const auto same = std::ranges::find(added, token.id, &AddedToken::id);
    if (same == added.end()) {
      added.push_back(token);
    } else {
      *same = token;
    }
  }
}

Json template_json(const Vocabulary& vocabulary, const std::string& begin, const std::string& end,
                   const std::string& second, int second_type) {
  const auto token = [](const std::string& name, int type) {
    return Json({{"SpecialToken", Json({{"id", name}, {"type_id", type}})}});
  };
  const auto text = [](const char* name, int type) {
    return Json({{"Sequence", Json({{"id", name}, {"type_id", type}})}});
  };
  Json one = Json::array();
  Json two = Json::array();
  Json tokens = Json::object();
  if (!begin.empty()) one.push(token(begin, 0));
  one.push(text("A", 0));
  if (!end.empty()) one.push(token(end, 0));
  for (const Json& item : one.items()) two.push(item);
  if (!second.empty()) two.push(token(second, second_type));
  two.push(text("B", second_type));
  if (!end.empty()) two.push(token(end, second_type));
  for (const std::string& name : {begin, end, second})
    if (!name.empty())
      tokens.set(name, Json({{"id", name},
                             {"ids", Json::array({vocabulary.find(name)})},
                             {"tokens", Json::array({name})}}));
  return Json(
      {{"type", "TemplateProcessing"}, {"single", one}, {"pair", two}, {"special_tokens", tokens}});
}

}  // namespace heed
