// Reads the values of `config.json`, with errors that name file, place and key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "heed/error.h"
#include "ops/elementwise.h"

namespace heed {

/// A name of the activation in transformers.
std::string_view activation_name(Activation activation);

class Config {
 public:
  /// `source` begins the errors: the file's path, or "config".
  static Config parse(std::string_view text, std::string source,
                      std::string_view expected = "a JSON object with 'model_type'");
  /// The same for a text that no file has: errors name no line of it.
  static Config made(std::string_view text, std::string source);
  /// Adds `generation_config.json`, whose token ids take precedence.
  void prefer_ids_of(Config generation);

  bool has(const char* key) const { return find(key) != nullptr; }
  /// Written as null, which differs from absent.
  bool null(const char* key) const { return node_->has(key) && find(key) == nullptr; }
  std::vector<std::string> keys() const;
  bool is_empty() const { return node_->members().empty(); }
  bool is_text(const char* key) const { return at(key).is_text(); }
  /// Null, an empty list or an empty object.
  bool is_empty(const char* key) const;
  /// From `least` to `most`; 16.0 is accepted as 16.
  std::int64_t extent(const char* key, std::int64_t otherwise, std::int64_t least = 1,
                      std::int64_t most = std::int64_t{1} << 30) const;
  /// A number of heads. Null is refused: no tensor's shape would contradict the default.
  std::int64_t heads(const char* key, std::int64_t otherwise) const;
  /// One id, or the first of a list; -1 if it is null, negative or an empty list.
  std::int64_t id(const char* key, std::int64_t otherwise) const;
  /// The same without generation_config.json, for ids that positions depend on.
  std::int64_t own_id(const char* key, std::int64_t otherwise) const;
  /// One id, a list of them, or null; negative ids are dropped.
  std::vector<std::int64_t> ids(const char* key, std::vector<std::int64_t> otherwise) const;
  /// `bad_words_ids`: lists of ids. Like transformers, from generation_config.json if it exists,
  /// else from the configuration.
  std::vector<std::vector<std::int64_t>> bad_words() const;
  double number(const char* key, double otherwise) const;
  /// Above 0.
  double positive(const char* key, double otherwise) const;
  /// 0 or more.
  double not_negative(const char* key, double otherwise) const;
  /// In [0, 1).
  double rate(const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string_view otherwise) const;
  /// An activation by its name in transformers.
  Activation activation(const char* key, std::string_view otherwise) const;
  /// The activation called `name`, a part of the value of `key`.
  Activation activation_of(const char* key, std::string_view name) const;
  std::vector<std::string> texts(const char* key) const;  // empty if absent
  /// Lists of texts, each with the number of its repetitions: [[["a", "b"], 2]] is a, b, a, b.
  /// Empty if absent; refused if they are more than `most`.
  std::vector<std::string> repeated_texts(const char* key, std::int64_t most) const;
  /// `count` numbers above 0.
  std::vector<double> positives(const char* key, std::int64_t count) const;
  /// A member that is an object; empty if it is absent or null.
  std::optional<Config> part(const char* key) const;

  /// The keys queried so far, in this object and its copies.
  const std::set<std::string, std::less<>>& asked() const { return *asked_; }

  /// This object with the members of another added or replaced.
  Config updated(const Config& other) const;
  /// The configuration as text, with these members added or replaced.
  std::string with(const Json& members) const;

  /// Throws: the value of `key`, possibly a default, is not what is expected.
  [[noreturn]] void refuse(const char* key, Phrase found, Phrase expected,
                           ErrorCode code = ErrorCode::kCorrupt) const;

 private:
  const Json* find(const char* key) const;  // by its other names too; null if absent or null
  std::vector<std::int64_t> own_ids(const char* key, std::vector<std::int64_t> otherwise) const;
  const Json& at(const char* key) const {
    asked_->emplace(key);
    return (*node_)[key];
  }
  [[noreturn]] void refuse(const char* key, Phrase expected) const;

  std::shared_ptr<const JsonText> json_;
  const Json* node_ = nullptr;  // in json_
  std::string path_ = {};       // path of the node: "rope_scaling."
  bool has_places_ = true;      // false: no file has the text
  std::shared_ptr<const Config> generation_ = {};
  std::shared_ptr<std::set<std::string, std::less<>>> asked_ =
      std::make_shared<std::set<std::string, std::less<>>>();
};

}  // namespace heed
