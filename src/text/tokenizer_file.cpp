#include "text/tokenizer_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr std::int64_t kMostTokens = 1 << 24;  // far beyond any model's vocabulary

std::string type_name(const Json& component) {
  if (component.is_null()) return "null";
  const std::string* type = component["type"].as_text();
  return type == nullptr ? "without type" : *type;
}

bool flag(const Json& object, const char* name) { return object[name].as_flag().value_or(false); }

// The id of a vocabulary entry or added token, -1 when it is none.
TokenId id_of(const Json& value) {
  const std::int64_t id = value.as_integer().value_or(-1);
  return id < 0 || id >= kMostTokens ? -1 : static_cast<TokenId>(id);
}

}  // namespace

TokenizerFile::TokenizerFile(std::string name, std::string text)
    : json_(JsonText::parse(std::move(text), {.file = std::move(name)})) {
  if (!model().is_object()) refuse(model(), "model", "that of a tokenizer.json, an object");
}

std::string TokenizerFile::type_of(std::string_view name) const {
  // Older files leave out the model's type where the merges give it away.
  if (name == "model" && !model().has("type") && model().has("merges")) return "BPE";
  return type_name(component(name));
}

void TokenizerFile::require_type(std::string_view name,
                                 std::initializer_list<std::string_view> known) const {
  const std::string type = type_of(name);
  if (std::ranges::find(known, type) == known.end())
    fail({.code = ErrorCode::kUnsupported,
          .file = json_.file(),
          .place = json_.place(component(name)),
          .argument = name,
          .found = type,
          .expected = fmt::format("{}", fmt::join(known, " or "))});
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

Vocabulary TokenizerFile::vocabulary() const {
  Vocabulary result;
  result.add_all(json_, model()["vocab"], "model.vocab");
  for (const Json& entry : list(component("added_tokens"), "added_tokens"))
    result.add(json_, added_token(entry).content, entry["id"]);
  return result;
}

AddedToken TokenizerFile::added_token(const Json& entry) const {
  const std::string* content = entry["content"].as_text();
  if (content == nullptr || content->empty())
    refuse(entry, "an entry of added_tokens", "an object with a 'content' that is not empty");
  if (flag(entry, "single_word"))
    refuse(entry["single_word"], "single_word of the added token " + Json(*content).brief(),
           "false", ErrorCode::kUnsupported);
  return {.content = *content,
          .id = id_of(entry["id"]),
          .special = flag(entry, "special"),
          .normalized = flag(entry, "normalized"),
          .lstrip = flag(entry, "lstrip"),
          .rstrip = flag(entry, "rstrip")};
}

AddedTokens TokenizerFile::added_tokens() const {
  std::vector<AddedToken> tokens;
  for (const Json& entry : list(component("added_tokens"), "added_tokens"))
    tokens.push_back(added_token(entry));
  return AddedTokens(std::move(tokens));
}

Frame TokenizerFile::frame() const {
  Frame frame;
  add_frame(component("post_processor"), frame);
  return frame;
}

void TokenizerFile::add_frame(const Json& post_processor, Frame& frame) const {
  const std::string type = type_name(post_processor);
  if (type == "null" || type == "ByteLevel") return;  // ByteLevel moves offsets; ours are exact
  if (type == "TemplateProcessing") return add_template(post_processor, frame);
  if (type != "Sequence")
    fail({.code = ErrorCode::kUnsupported,
          .file = json_.file(),
          .place = json_.place(post_processor),
          .argument = "post_processor",
          .found = type,
          .expected = "null, ByteLevel, TemplateProcessing or a Sequence of them"});
  for (const Json& part : list(post_processor["processors"], "post_processor.processors"))
    add_frame(part, frame);
}

void TokenizerFile::add_template(const Json& post_processor, Frame& frame) const {
  bool seen_text = false;
  for (const Json& item : list(post_processor["single"], "post_processor.single")) {
    if (item.has("Sequence")) {
      if (std::exchange(seen_text, true)) break;
      continue;
    }
    for (const TokenId id : ids_of(post_processor, item["SpecialToken"]))
      (seen_text ? frame.after : frame.before).push_back(id);
  }
  if (!seen_text)
    refuse(post_processor["single"], "post_processor.single", "a template with a Sequence");
}

std::vector<TokenId> TokenizerFile::ids_of(const Json& post_processor, const Json& special) const {
  const std::string* name = special["id"].as_text();
  const Json& ids = post_processor["special_tokens"][name == nullptr ? "" : *name]["ids"];
  if (ids.items().empty())
    refuse(ids, fmt::format("post_processor.special_tokens.{}.ids", name == nullptr ? "?" : *name),
           "a list of ids");
  std::vector<TokenId> result;
  for (const Json& id : ids.items()) result.push_back(id_of(id));
  return result;
}

std::string write_tokenizer_json(const TokenizerParts& parts) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added_tokens)
    added.push({{"id", token.id},
                {"content", token.content},
                {"single_word", false},
                {"lstrip", token.lstrip},
                {"rstrip", token.rstrip},
                {"normalized", token.normalized},
                {"special", token.special}});
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
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
