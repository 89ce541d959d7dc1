// Access to the parts of a `tokenizer.json`, checked, with errors that name the file, the place and
// the member.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/tokenizer.h"
#include "text/added_token.h"

namespace heed {

/// Pieces by id and ids by piece.
struct Vocabulary {
  /// Checks and adds a piece and its id, a value of the file.
  void add(const JsonText& file, const std::string& piece, const Json& id);
  /// Adds an object of the file, from pieces to ids, called `argument`.
  void add_all(const JsonText& file, const Json& entries, std::string_view argument);
  /// Adds a list of [piece, score], in the order of the ids.
  void add_list(const JsonText& file, const Json& entries, std::string_view argument);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view piece) const {
      return std::hash<std::string_view>{}(piece);
    }
  };
  std::vector<std::string> pieces;   // empty: the id is unused
  std::vector<TokenId> of_no_model;  // ids of added tokens only, ascending
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids;

  TokenId find(std::string_view piece) const {
    const auto found = ids.find(piece);
    return found == ids.end() ? -1 : found->second;
  }
  bool is_of_model(TokenId id) const { return !std::ranges::binary_search(of_no_model, id); }
  /// The same, only among the model's pieces.
  TokenId find_in_model(std::string_view piece) const {
    const TokenId id = find(piece);
    return id >= 0 && is_of_model(id) ? id : -1;
  }
};

class TokenizerFile {
 public:
  /// `name` is the path, or the name in messages of a tokenizer made in memory. `truncation` and
  /// `padding` are not read: the caller of the model decides on them.
  TokenizerFile(std::string name, std::string text);

  const std::string& name() const { return json_.file(); }
  const std::string& text() const { return json_.text(); }
  const Json& root() const { return json_.root(); }
  const Json& model() const { return root()["model"]; }

  /// The component; null if the file has none.
  const Json& component(std::string_view name) const { return json_.root()[name]; }
  /// True if the pieces are written in the byte alphabet: ByteLevel splits or decodes.
  bool is_of_bytes() const;

  /// Throws unless the model's option is absent, null or `served`.
  void require_option(std::string_view option, const Json& served) const;

  Vocabulary vocabulary() const;  // the model's, added tokens included
  std::vector<AddedToken> added_tokens() const;

  /// Throws: this value of the file, the member `argument`, is not what is expected.
  [[noreturn]] void refuse(const Json& value, Phrase argument, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const {
    json_.refuse(value, std::move(argument), std::move(expected), code);
  }
  /// Throws: the component has an unexpected type.
  [[noreturn]] void refuse_type(const Json& component, Phrase argument, Phrase expected,
                                ErrorCode code = ErrorCode::kUnsupported) const;
  /// The items of an array that may be absent; throws for anything else.
  std::span<const Json> list(const Json& value, std::string_view argument) const;
  /// Throws if the value is not a text.
  std::string text_of(const Json& value, std::string_view argument) const;

 private:
  AddedToken added_token(const Json& entry) const;

  JsonText json_;
};

/// The `type` of a component, "null" if there is none.
std::string type_name(const Json& component);
/// The id of a vocabulary entry or added token; -1 if the value is not an id.
TokenId id_of(const Json& value);

/// The reader for components of one `type`.
template <typename T>
struct ComponentReader {
  std::string_view type;
  T (*read)(const TokenizerFile& file, const Json& component);
};

/// Reads a component that messages call `argument`; T() if there is none. Throws for an unknown
/// type, and lists the known ones.
template <typename T>
T read_component(const TokenizerFile& file, const Json& component, std::string_view argument,
                 std::span<const ComponentReader<T>> readers) {
  if (component.is_null()) return {};
  const std::string type = type_name(component);
  for (const ComponentReader<T>& reader : readers)
    if (reader.type == type) return reader.read(file, component);
  const auto name_of = [](const ComponentReader<T>& reader) { return reader.type; };
  file.refuse_type(component, argument, "one of " + joined(readers, ", ", name_of));
}

/// An entry of `added_tokens`.
Json json_of(const AddedToken& token);

/// The content of a `tokenizer.json` written by heed.
struct TokenizerParts {
  Json normalizer = {};
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
