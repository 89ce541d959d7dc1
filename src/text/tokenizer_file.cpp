#include "text/tokenizer_file.h"

#include <fmt/format.h>

#include <utility>

namespace heed {
namespace {

constexpr std::int64_t kMostTokens = 1 << 21;  // twice the largest published vocabulary

bool flag(const Json& object, const char* name) { return object[name].as_flag().value_or(false); }

}  // namespace

std::string type_name(const Json& component) {
  if (component.is_null()) return "null";
  const std::string* type = component["type"].as_text();
  return type == nullptr ? "without type" : *type;
}

TokenId id_of(const Json& value) {
  const std::int64_t id = value.as_integer().value_or(-1);
  return id < 0 || id >= kMostTokens ? -1 : static_cast<TokenId>(id);
}

TokenizerFile::TokenizerFile(std::string name, std::string text)
    : json_(JsonText::parse(std::move(text), {.file = std::move(name)})) {
  if (!model().is_object()) refuse(model(), "model", "that of a tokenizer.json, an object");
}

bool TokenizerFile::is_of_bytes() const {
  const Json byte_level = "ByteLevel";
  const auto ends_in_bytes = [&](const Json& cutter) {
    const auto parts = cutter["pretokenizers"].items();
    return cutter["type"] == byte_level || (!parts.empty() && parts.back()["type"] == byte_level);
  };
  return ends_in_bytes(component("pre_tokenizer"));
}

void TokenizerFile::refuse_type(const Json& component, Phrase argument, Phrase expected,
                                ErrorCode code) const {
  fail({.code = code,
        .file = json_.file(),
        .place = json_.place(component),
        .argument = std::move(argument),
        .found = type_name(component),
        .expected = std::move(expected)});
}

void TokenizerFile::require_option(std::string_view option, const Json& served) const {
  const Json& found = model()[option];
  if (found.is_null() || found == served) return;
  refuse(found, fmt::format("model.{}", option),
         served.is_null() ? "null" : fmt::format("{} or null", served.dump()),
         ErrorCode::kUnsupported);
}

std::span<const Json> TokenizerFile::list(const Json& value, std::string_view argument) const {
  if (!value.is_array() && !value.is_null()) refuse(value, argument, "a list");
  return value.items();
}

std::string TokenizerFile::text_of(const Json& value, std::string_view argument) const {
  const std::string* text = value.as_text();
  if (text == nullptr) refuse(value, argument, "a text");
  return *text;
}

void Vocabulary::add(const JsonText& file, const std::string& piece, const Json& value) {
  const auto refuse = [&](Phrase expected) {
    file.refuse(value, "the id of " + Json(piece).brief(), std::move(expected));
  };
  const TokenId id = id_of(value);
  if (id < 0) refuse(fmt::format("a whole number below {}", kMostTokens));
  if (piece.empty()) refuse("a piece that is not empty");
  const auto index = static_cast<std::size_t>(id);
  if (index >= pieces.size()) pieces.resize(index + 1);
  if (pieces[index] == piece) return;
  if (!pieces[index].empty()) refuse("another than that of " + Json(pieces[index]).brief());
  if (!ids.emplace(piece, id).second) refuse(fmt::format("{} as before", find(piece)));
  pieces[index] = piece;
}

void Vocabulary::add_all(const JsonText& file, const Json& entries, std::string_view argument) {
  if (!entries.is_object()) file.refuse(entries, argument, "an object from pieces to ids");
  for (const auto& [piece, id] : entries.members()) add(file, piece, id);
}

void Vocabulary::add_list(const JsonText& file, const Json& entries, std::string_view argument) {
  for (const Json& entry : entries.items()) {
    const auto parts = entry.items();
    if (parts.size() != 2 || !parts[0].is_text())
      file.refuse(entry, fmt::format("{}[{}]", argument, pieces.size()),
                  "a list of a piece and its score");
    const auto id = static_cast<TokenId>(pieces.size());
    if (id == kMostTokens)
      file.refuse(entries, argument, fmt::format("at most {} pieces", kMostTokens));
    pieces.push_back(*parts[0].as_text());
    if (!pieces.back().empty())
      ids.insert_or_assign(pieces.back(), id);  // for a repeated piece the last id counts
  }
}

Vocabulary TokenizerFile::vocabulary() const {
  Vocabulary result;
  const Json& entries = model()["vocab"];
  if (entries.is_array()) {
    result.add_list(json_, entries, "model.vocab");
  } else {
    result.add_all(json_, entries, "model.vocab");
  }
  for (const Json& entry : list(component("added_tokens"), "added_tokens")) {
    const std::string content = added_token(entry).content;
    if (result.find(content) >= 0) continue;  // like `tokenizers`, whatever its id here
    result.of_no_model.push_back(id_of(entry["id"]));
    result.add(json_, content, entry["id"]);
  }
  std::ranges::sort(result.of_no_model);
  return result;
}

AddedToken TokenizerFile::added_token(const Json& entry) const {
  const std::string* content = entry["content"].as_text();
  if (content == nullptr || content->empty())
    refuse(entry, "an entry of added_tokens", "an object with a 'content' that is not empty");
  return {.content = *content,
          .id = id_of(entry["id"]),
          .special = flag(entry, "special"),
          .normalized = flag(entry, "normalized"),
          .lstrip = flag(entry, "lstrip"),
          .rstrip = flag(entry, "rstrip"),
          .single_word = flag(entry, "single_word")};
}

std::vector<AddedToken> TokenizerFile::added_tokens() const {
  std::vector<AddedToken> tokens;
  for (const Json& entry : list(component("added_tokens"), "added_tokens"))
    tokens.push_back(added_token(entry));
  return tokens;
}

Json json_of(const AddedToken& token) {
  return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
          {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
          {"special", token.special}};
}

std::string write_tokenizer_json(const TokenizerParts& parts) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added_tokens) added.push(json_of(token));
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", parts.normalizer},
                     {"pre_tokenizer", parts.pre_tokenizer},
                     {"post_processor", parts.post_processor},
                     {"decoder", parts.decoder},
                     {"model", parts.model}};
  return json.dump(1) + "\n";
}

Json vocabulary_json(const std::vector<std::string>& pieces) {
  Json result = Json::object();
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (!pieces[id].empty()) result.add(pieces[id], id);
  return result;
}

}  // namespace heed
