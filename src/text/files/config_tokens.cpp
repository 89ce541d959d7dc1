#include "text/files/config_tokens.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "text/files/readers.h"
#include "text/files/sentence_piece_json.h"

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

// Like transformers, a token is special if another file names it as such.
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

namespace {

// A part of a template: a token, or a text.
Json template_part(const char* kind, const std::string& name, int type = 0) {
  return {{kind, Json({{"id", name}, {"type_id", type}})}};
}

void add_template_token(const std::string& name, const Json& id, Json& tokens) {
  tokens.set(name,
             Json({{"id", name}, {"ids", Json::array({id})}, {"tokens", Json::array({name})}}));
}

Json whole_template(const Json& one, const Json& two, const Json& tokens) {
  return {
      {"type", "TemplateProcessing"}, {"single", one}, {"pair", two}, {"special_tokens", tokens}};
}

}  // namespace

Json template_json(const Vocabulary& vocabulary, const std::string& begin, const std::string& end,
                   const std::string& second, int second_type) {
  Json one = Json::array();
  Json two = Json::array();
  Json tokens = Json::object();
  if (!begin.empty()) one.push(template_part("SpecialToken", begin));
  one.push(template_part("Sequence", "A"));
  if (!end.empty()) one.push(template_part("SpecialToken", end));
  for (const Json& item : one.items()) two.push(item);
  if (!second.empty()) two.push(template_part("SpecialToken", second, second_type));
  two.push(template_part("Sequence", "B", second_type));
  if (!end.empty()) two.push(template_part("SpecialToken", end, second_type));
  for (const std::string& name : {begin, end, second})
    if (!name.empty()) add_template_token(name, vocabulary.find(name), tokens);
  return whole_template(one, two, tokens);
}

namespace {

// Classes that read tokenizer.json unchanged, whatever the config says.
constexpr std::string_view kGeneral[] = {"PreTrainedTokenizer", "TokenizersBackend"};

// The tokenizer's class, without "Fast"; empty if the config names none.
std::string class_of(const Json& config) {
  constexpr std::string_view kFast = "Fast";
  const std::string* name = config["tokenizer_class"].as_text();
  if (name == nullptr) return "";
  return name->substr(0, name->size() - (name->ends_with(kFast) ? kFast.size() : 0));
}

bool is(const Json& component, std::string_view type) { return component["type"] == Json(type); }

// The component, or each part of a Sequence, after `change`.
Json changed(Json component, std::string_view list, const auto& change) {
  if (!is(component, "Sequence")) return change(std::move(component));
  Json parts = Json::array();
  for (const Json& part : component[list].items()) parts.push(change(part));
  component.set(list, std::move(parts));
  return component;
}

// Copies the config's value to `to`, if there is one.
void take(Json& component, std::string_view to, const Json& config, std::string_view from) {
  if (config[from].as_flag()) component.set(to, config[from]);
}

Json with_bert_settings(Json normalizer, const Json& config) {
  if (!is(normalizer, "BertNormalizer")) return normalizer;
  take(normalizer, "lowercase", config, "do_lower_case");
  take(normalizer, "strip_accents", config, "strip_accents");
  take(normalizer, "handle_chinese_chars", config, "tokenize_chinese_chars");
  return normalizer;
}

Json with_prefix_setting(Json pre_tokenizer, const Json& config) {
  if (is(pre_tokenizer, "ByteLevel"))
    take(pre_tokenizer, "add_prefix_space", config, "add_prefix_space");
  return pre_tokenizer;
}

// Adds a space only before the whole text or, with `legacy`, before the text after each added
// token.
void become_llama(Json& tokenizer, const Json& config) {
  const bool blank = config["add_prefix_space"].as_flag().value_or(true);
  const bool legacy = config["legacy"].as_flag().value_or(false);
  tokenizer.set("normalizer", nullptr);
  const char* const with_blank = legacy ? "always" : "first";
  tokenizer.set("pre_tokenizer", metaspace_json(blank ? with_blank : "never", /*split=*/false));
  tokenizer.set("decoder", metaspace_decoder_json(blank));
}

// Like Llama 2's file, in either version's form: Llama 3 has the same class, but bytes.
bool is_llama(const Json& tokenizer) {
  bool marks = is(tokenizer["pre_tokenizer"], "Metaspace");
  changed(tokenizer["normalizer"], "normalizers", [&](Json part) {
    marks = marks || is(part, "Prepend");
    return part;
  });
  return marks && is(tokenizer["model"], "BPE");
}

// The ids of the file's tokens, ascending.
std::vector<TokenId> ids_of(const Json& tokenizer) {
  const Json& vocabulary = tokenizer["model"]["vocab"];
  std::vector<TokenId> ids(vocabulary.items().size());
  std::iota(ids.begin(), ids.end(), 0);
  for (const auto& [piece, id] : vocabulary.members()) ids.push_back(id_of(id));
  for (const Json& token : tokenizer["added_tokens"].items()) ids.push_back(id_of(token["id"]));
  std::ranges::sort(ids);
  return ids;
}

// Takes the flags of tokens from the config; adds tokens missing in the file, with the next free id
// if theirs is taken.
Json with_tokens(const Json& tokenizer, std::vector<AddedToken> tokens) {
  std::vector<Json> all(tokenizer["added_tokens"].items().begin(),
                        tokenizer["added_tokens"].items().end());
  std::vector<TokenId> ids;
  for (AddedToken& token : tokens) {
    const auto same = std::ranges::find_if(
        all, [&](const Json& each) { return each["content"] == Json(token.content); });
    if (same != all.end()) {
      token.id = id_of((*same)["id"]);
      *same = json_of(token);
      continue;
    }
    if (ids.empty()) ids = ids_of(tokenizer);
    const Json& known = tokenizer["model"]["vocab"][token.content];
    if (!known.is_null())
      token.id = id_of(known);
    else if (std::ranges::binary_search(ids, token.id))
      token.id = ids.back() + 1;
    ids.insert(std::ranges::upper_bound(ids, token.id), token.id);
    all.push_back(json_of(token));
  }
  return all;
}

// Tokenizers that frame a text by its language: `src_lang`.
struct OfLanguages {
  std::string_view its_class, usual;
  bool first;  // the language precedes the text; else it follows the end token
};
constexpr OfLanguages kOfLanguages[] = {{"NllbTokenizer", "eng_Latn", true},
                                        {"MBartTokenizer", "en_XX", false},
                                        {"MBart50Tokenizer", "en_XX", true}};

// Like transformers, whatever post-processor the file has.
Json language_template(const OfLanguages& kind, const Json& added_tokens, const JsonText& config) {
  const std::string language = token_name(config.root(), "src_lang", kind.usual);
  const std::string end = token_name(config.root(), "eos_token", "</s>");
  const bool legacy = config.root()["legacy_behaviour"].as_flag().value_or(false);
  Json tokens = Json::object();
  for (const std::string& name : {language, end}) {
    const auto found = std::ranges::find_if(
        added_tokens.items(), [&](const Json& each) { return each["content"] == Json(name); });
    if (found == added_tokens.items().end())
      fail_in(config.file(), name == end ? "eos_token" : "src_lang", "'" + name + "'",
              "an added token of tokenizer.json");
    add_template_token(name, (*found)["id"], tokens);
  }
  const auto framed = [&](std::initializer_list<const char*> texts) {
    Json parts = Json::array();
    const bool first = kind.first && !legacy;
    if (first) parts.push(template_part("SpecialToken", language));
    for (const char* text : texts) parts.push(template_part("Sequence", text));
    parts.push(template_part("SpecialToken", end));
    if (!first) parts.push(template_part("SpecialToken", language));
    return parts;
  };
  return whole_template(framed({"A"}), framed({"A", "B"}), tokens);
}

}  // namespace

std::optional<std::string> with_settings(const Json& tokenizer, const JsonText& config_file,
                                         const std::filesystem::path& folder) {
  const Json& config = config_file.root();
  Json parts = Json::object();  // everything except the model, which is large
  for (const char* name :
       {"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"})
    parts.set(name, tokenizer[name]);
  const Json before = parts;
  const std::string its_class = class_of(config);
  if (std::ranges::find(kGeneral, its_class) == std::end(kGeneral)) {
    parts.set("normalizer", changed(parts["normalizer"], "normalizers", [&](Json part) {
                return with_bert_settings(std::move(part), config);
              }));
    parts.set("pre_tokenizer", changed(parts["pre_tokenizer"], "pretokenizers", [&](Json part) {
                return with_prefix_setting(std::move(part), config);
              }));
    if (its_class == "LlamaTokenizer" && is_llama(tokenizer)) become_llama(parts, config);
  }
  if (config.has("added_tokens_decoder"))
    parts.set("added_tokens", with_tokens(tokenizer, added_tokens_of(config_file, folder)));
  const auto languages = std::ranges::find(kOfLanguages, its_class, &OfLanguages::its_class);
  if (languages != std::end(kOfLanguages))
    parts.set("post_processor", language_template(*languages, parts["added_tokens"], config_file));
  if (parts == before) return std::nullopt;
  Json whole = tokenizer;
  for (const auto& [name, part] : parts.members()) whole.set(name, part);
  return whole.dump();
}

}  // namespace heed
