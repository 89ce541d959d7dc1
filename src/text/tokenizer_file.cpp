#include "text/tokenizer_file.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr std::int64_t kMostTokens = 1 << 24;  // far beyond any model's vocabulary

std::string type_name(const Json& component) {
  if (component.is_null()) return "null";
  if (!component.is_object() || !component.contains("type")) return "without type";
  return component["type"].is_string() ? component["type"].get<std::string>() : "without type";
}

bool flag(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// The id of a vocabulary entry or added token, -1 when it is none.
TokenId id_of(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMostTokens) return -1;
  return value.get<TokenId>();
}

}  // namespace

TokenizerFile::TokenizerFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  try {
    json_ = Json::parse(text_);
  } catch (const Json::parse_error& error) {
    fail_with(ErrorCode::kCorrupt, "not JSON at byte {}", std::max<std::size_t>(error.byte, 1) - 1);
  }
  if (!json_.is_object() || !json_.contains("model") || !json_["model"].is_object())
    fail_with(ErrorCode::kCorrupt, "expected a tokenizer.json, a JSON object with 'model'");
}

const Json& TokenizerFile::component(const char* name) const {
  static const Json none;
  const auto found = json_.find(name);
  return found == json_.end() ? none : *found;
}

std::string TokenizerFile::type_of(const char* name) const {
  // Older files leave out the model's type where the merges give it away.
  if (std::string_view(name) == "model" && !model().contains("type") && model().contains("merges"))
    return "BPE";
  return type_name(component(name));
}

void TokenizerFile::require_type(const char* name,
                                 std::initializer_list<std::string_view> known) const {
  const std::string type = type_of(name);
  if (std::ranges::find(known, type) == known.end())
    fail_with(ErrorCode::kUnsupported, "{} is {}, expected {}", name, type,
              fmt::join(known, " or "));
}

void TokenizerFile::require_option(const char* option, std::initializer_list<Json> known) const {
  const auto found = model().find(option);
  if (found == model().end() || found->is_null()) return;
  if (std::ranges::find(known, *found) == known.end())
    fail_with(ErrorCode::kUnsupported, "model has {} = {}, which is not served", option,
              found->dump());
}

Vocabulary TokenizerFile::vocabulary() const {
  const Json entries = model().value("vocab", Json());
  if (!entries.is_object())
    fail_with(ErrorCode::kCorrupt, "model has no 'vocab' from pieces to ids");
  Vocabulary result;
  const auto add = [&](const std::string& piece, TokenId id) {
    if (id < 0 || piece.empty())
      fail_with(ErrorCode::kCorrupt, "'{}' has no id that is a whole number", piece);
    const auto index = static_cast<std::size_t>(id);
    if (index >= result.pieces.size()) result.pieces.resize(index + 1);
    const bool same = result.pieces[index] == piece;
    if (!same && (!result.pieces[index].empty() || result.ids.contains(piece)))
      fail_with(ErrorCode::kCorrupt, "'{}' has id {}, which is '{}'; '{}' has {}", piece, id,
                result.pieces[index], piece, result.find(piece));
    result.pieces[index] = piece;
    result.ids.emplace(piece, id);
  };
  for (const auto& [piece, id] : entries.items()) add(piece, id_of(id));
  const AddedTokens added = added_tokens();
  for (const AddedToken& token : added.tokens()) add(token.content, token.id);
  return result;
}

AddedTokens TokenizerFile::added_tokens() const {
  std::vector<AddedToken> tokens;
  for (const Json& entry : component("added_tokens")) {
    if (!entry.is_object() || !entry.contains("content") || !entry["content"].is_string() ||
        entry["content"].get_ref<const std::string&>().empty())
      fail_with(ErrorCode::kCorrupt, "added_tokens has an entry without 'content'");
    AddedToken token = {.content = entry["content"].get<std::string>(),
                        .id = id_of(entry.value("id", Json())),
                        .special = flag(entry, "special"),
                        .normalized = flag(entry, "normalized"),
                        .lstrip = flag(entry, "lstrip"),
                        .rstrip = flag(entry, "rstrip")};
    if (flag(entry, "single_word"))
      fail_with(ErrorCode::kUnsupported, "added token '{}' has single_word, which is not served",
                token.content);
    tokens.push_back(std::move(token));
  }
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
    fail_with(ErrorCode::kUnsupported,
              "post_processor is {}, expected null, ByteLevel, TemplateProcessing or a Sequence of "
              "them",
              type);
  for (const Json& part : post_processor.value("processors", Json::array())) add_frame(part, frame);
}

void TokenizerFile::add_template(const Json& post_processor, Frame& frame) const {
  bool seen_text = false;
  for (const Json& item : post_processor.value("single", Json::array())) {
    if (item.is_object() && item.contains("Sequence")) {
      if (std::exchange(seen_text, true)) break;
      continue;
    }
    const Json special = item.is_object() ? item.value("SpecialToken", Json()) : Json();
    const std::string name = special.is_object() ? special.value("id", "") : "";
    const Json named = post_processor.value("special_tokens", Json::object()).value(name, Json());
    const Json ids = named.is_object() ? named.value("ids", Json()) : Json();
    if (!ids.is_array() || ids.empty())
      fail_with(ErrorCode::kCorrupt, "post_processor names the special token '{}' without ids",
                name);
    for (const Json& id : ids) (seen_text ? frame.after : frame.before).push_back(id_of(id));
  }
  if (!seen_text)
    fail_with(ErrorCode::kCorrupt, "post_processor has no 'single' template with a Sequence");
}

std::string write_tokenizer_json(const nlohmann::ordered_json& pre_tokenizer,
                                 const nlohmann::ordered_json& post_processor,
                                 const nlohmann::ordered_json& decoder,
                                 const nlohmann::ordered_json& model,
                                 const std::vector<AddedToken>& added_tokens) {
  auto added = nlohmann::ordered_json::array();
  for (const AddedToken& token : added_tokens)
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  const nlohmann::ordered_json json = {{"version", "1.0"},
                                       {"truncation", nullptr},
                                       {"padding", nullptr},
                                       {"added_tokens", added},
                                       {"normalizer", nullptr},
                                       {"pre_tokenizer", pre_tokenizer},
                                       {"post_processor", post_processor},
                                       {"decoder", decoder},
                                       {"model", model}};
  return json.dump(1) + "\n";
}

nlohmann::ordered_json vocabulary_json(const std::vector<std::string>& pieces) {
  auto result = nlohmann::ordered_json::object();
  auto& entries = result.get_ref<nlohmann::ordered_json::object_t&>();
  for (std::size_t id = 0; id < pieces.size(); ++id)  // `result[piece]` would search the list
    if (!pieces[id].empty()) entries.emplace_back(pieces[id], id);
  return result;
}

}  // namespace heed
