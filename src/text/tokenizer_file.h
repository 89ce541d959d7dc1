// What every reader of a `tokenizer.json` needs: its parts, checked, with errors that name the
// file, the place and the member.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "heed/base/error.h"
#include "heed/text/tokenizer.h"
#include "text/added_tokens.h"

namespace heed {

/// Pieces by id and ids by piece.
struct Vocabulary {
  /// Checks the piece and its id, a value of the file, and adds them.
  void add(const JsonText& file, const std::string& piece, const Json& id);
  /// Of an object from pieces to ids, a value of the file that is called `argument`.
  void add_all(const JsonText& file, const Json& entries, std::string_view argument);

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

  const std::string& name() const { return json_.file(); }
  const std::string& text() const { return json_.text(); }
  const Json& model() const { return json_.root()["model"]; }

  /// The component, null where the file has none; and its `type`, "null" where it has none.
  const Json& component(std::string_view name) const { return json_.root()[name]; }
  std::string type_of(std::string_view component) const;

  /// Fails unless the component's type is one of these ("null" too).
  void require_type(std::string_view component,
                    std::initializer_list<std::string_view> known) const;
  /// Fails unless the model's option is absent, null or `served`.
  void require_option(std::string_view option, const Json& served) const;

  Vocabulary vocabulary() const;  // the model's, added tokens included
  AddedTokens added_tokens() const;
  Frame frame() const;

  /// Fails: this value of the file, the member `argument`, is not what is expected.
  [[noreturn]] void refuse(const Json& value, Phrase argument, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const {
    json_.refuse(value, std::move(argument), std::move(expected), code);
  }
  /// The items of an array that may be absent; fails where it is something else.
  std::span<const Json> list(const Json& value, std::string_view argument) const;

 private:
  AddedToken added_token(const Json& entry) const;
  void add_frame(const Json& post_processor, Frame& frame) const;
  void add_template(const Json& post_processor, Frame& frame) const;
  std::vector<TokenId> ids_of(const Json& post_processor, const Json& special) const;

  JsonText json_;
};

/// A content in the form of `tokenizer.json`; the text that heed writes.
struct TokenizerParts {
  Json pre_tokenizer = {};
  Json post_processor = {};
  Json decoder = {};
  Json model = {};
  std::vector<AddedToken> added_tokens = {};
};
std::string write_tokenizer_json(const TokenizerParts& parts);

/// `{piece: id}`, in the order of the ids.
Json vocabulary_json(const std::vector<std::string>& pieces);

}  // namespace heed
