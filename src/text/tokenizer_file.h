// What every reader of a `tokenizer.json` needs: its parts, checked, with errors that name the file
// and the component.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/base/error.h"
#include "heed/text/tokenizer.h"
#include "text/added_tokens.h"

namespace heed {

using Json = nlohmann::json;

/// Pieces by id and ids by piece.
struct Vocabulary {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view piece) const {
      return std::hash<std::string_view>{}(piece);
    }
  };
  std::vector<std::string> pieces;  // an empty one: nothing has this id
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids;

  TokenId find(std::string_view piece) const {
    const auto found = ids.find(piece);
    return found == ids.end() ? -1 : found->second;
  }
};

/// The ids that a post-processor puts before and after the text.
struct Frame {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

class TokenizerFile {
 public:
  /// `name` is the path, or what messages call a tokenizer that was made in memory. `truncation`
  /// and `padding` are not read: who runs the model decides on them.
  TokenizerFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  const Json& model() const { return json_["model"]; }

  /// The component, null where the file has none; and its `type`, "null" where it has none.
  const Json& component(const char* name) const;
  std::string type_of(const char* component) const;

  /// Fails unless the component's type is one of these ("null" too).
  void require_type(const char* component, std::initializer_list<std::string_view> known) const;
  /// Fails unless the model's option is absent, null or equal to one of these.
  void require_option(const char* option, std::initializer_list<Json> known) const;

  Vocabulary vocabulary() const;  // the model's, added tokens included
  AddedTokens added_tokens() const;
  Frame frame() const;

  template <typename... Args>
  [[noreturn]] void fail_with(ErrorCode code, fmt::format_string<Args...> format,
                              Args&&... args) const {
    fail(code, "{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void add_frame(const Json& post_processor, Frame& frame) const;
  void add_template(const Json& post_processor, Frame& frame) const;

  std::string name_;
  std::string text_;
  Json json_;
};

/// A content in the form of `tokenizer.json`; the text that heed writes.
std::string write_tokenizer_json(const nlohmann::ordered_json& pre_tokenizer,
                                 const nlohmann::ordered_json& post_processor,
                                 const nlohmann::ordered_json& decoder,
                                 const nlohmann::ordered_json& model,
                                 const std::vector<AddedToken>& added_tokens);

/// `{piece: id}`, in the order of the ids.
nlohmann::ordered_json vocabulary_json(const std::vector<std::string>& pieces);

}  // namespace heed
