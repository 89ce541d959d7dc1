#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "models/gguf_save.h"
#include "text/files/sentence_piece_json.h"
#include "text/files/stored_vocabulary.h"
#include "text/model/model.h"
#include "text/utf8.h"

namespace heed {
namespace {

using Type = SentencePieceModel::Type;

[[noreturn]] void refuse_tokenizer(Phrase found, Phrase expected) {
  fail("gguf", "the tokenizer", std::move(found), std::move(expected), ErrorCode::kUnsupported);
}

/// The lists of a GGUF file, from the content of a tokenizer.json.
class Lists {
 public:
  Lists(const Tokenizer& tokenizer, std::int64_t words, Json& metadata)
      : tokenizer_(tokenizer),
        words_(words),
        json_(JsonText::parse(tokenizer.to_json(), {.file = "tokenizer"})),
        metadata_(metadata) {}

  void write() {
    const Json& model = json_.root()["model"];
    const std::string kind = model_type(model);
    read_pieces();
    if (kind == "BPE" && is_of_bytes())
      write_byte_bpe(model);
    else if (kind == "BPE")
      write_sentence_piece(model);
    else if (kind == "WordPiece")
      write_word_pieces();
    else
      refuse_tokenizer(kind, "BPE or WordPiece");
    set("tokens", Json(pieces_));
    set("token_type", Json(types_));
    write_special_tokens();
  }

 private:
  static std::string whole(std::string_view key) { return "tokenizer.ggml." + std::string(key); }
  void set(std::string_view key, Json value) { metadata_.set(whole(key), std::move(value)); }

  // The first name of each key that the tokenizer has. For llama.cpp, BERT's [CLS] is the token
  // that begins a text.
  void write_special_tokens() {
    static const std::pair<const char*, std::vector<std::string_view>> kSpecial[] = {
        {"bos_token_id", {"<s>", "<bos>", "<|begin_of_text|>", "[CLS]"}},
        {"eos_token_id", {"</s>", "<eos>", "<|endoftext|>"}},
        {"unknown_token_id", {"<unk>", "[UNK]"}},
        {"padding_token_id", {"<pad>", "[PAD]"}},
        {"seperator_token_id", {"[SEP]"}},
        {"mask_token_id", {"[MASK]", "<mask>"}}};
    for (const auto& [key, names] : kSpecial)
      for (const std::string_view name : names)
        if (const TokenId id = tokenizer_.find(name);
            id >= 0 && tokenizer_.is_special(id) && !metadata_.has(whole(key)))
          set(key, std::int64_t{id});
  }

  // The model may have more rows than the tokenizer has tokens. llama.cpp wants a piece per row.
  void read_pieces() {
    const std::int64_t count = std::max(tokenizer_.vocabulary_size(), words_);
    for (TokenId id = 0; id < count; ++id) {
      const bool there = tokenizer_.has(id);
      pieces_.push_back(there ? tokenizer_.piece(id) : fmt::format("[PAD{}]", id));
      types_.push_back(static_cast<std::int64_t>(!there                      ? Type::kUnused
                                                 : tokenizer_.is_special(id) ? Type::kControl
                                                                             : Type::kNormal));
    }
    for (const Json& token : json_.root()["added_tokens"].items())
      if (const auto id = token["id"].as_whole_number();
          id && *id < std::ssize(types_) && !token["special"].as_flag().value_or(false))
        types_[static_cast<std::size_t>(*id)] = static_cast<std::int64_t>(Type::kUserDefined);
  }

  bool is_of_bytes() const { return json_.root()["decoder"]["type"] == Json("ByteLevel"); }

  // Whether a template, or RoBERTa's frame, puts tokens around a text.
  bool begins() const {
    const std::vector<TokenId> ids = tokenizer_.encode("", true).ids;
    return !ids.empty();
  }

  void write_byte_bpe(const Json& model) {
    set("model", "gpt2");
    set("pre", words(model));
    std::vector<std::string> merges;
    for (const Json& merge : model["merges"].items())
      merges.push_back(merge.is_text() ? *merge.as_text()
                       : merge.items().size() == 2
                           ? *merge.items()[0].as_text() + " " + *merge.items()[1].as_text()
                           : "");
    set("merges", Json(merges));
    set("add_bos_token", begins());
  }

  // llama.cpp's name for the way words are split.
  std::string_view words(const Json& model) const {
    const Json& root = json_.root();
    WordCutter wanted = {.ignore_merges = model["ignore_merges"].as_flag().value_or(false)};
    if (const std::string* normalizer = root["normalizer"]["type"].as_text())
      wanted.normalizer = *normalizer;
    std::vector<const Json*> parts = {&root["pre_tokenizer"]};
    for (const Json& part : parts.front()->operator[]("pretokenizers").items())
      parts.push_back(&part);
    for (const Json* part : parts) {
      constexpr std::string_view kKnown[] = {"Sequence", "Digits", "Split", "ByteLevel"};
      const std::string* type = (*part)["type"].as_text();
      if (type == nullptr || std::ranges::find(kKnown, *type) == std::end(kKnown))
        refuse_tokenizer(fmt::format("one with the pre-tokeniser {}", (*part)["type"].brief()),
                         "Sequence, Digits, Split and ByteLevel");
      wanted.digits_alone |= (*part)["individual_digits"] == Json(true);
      if (const std::string* regex = (*part)["pattern"]["Regex"].as_text()) wanted.pattern = *regex;
    }
    if (const WordCutter* cutter = same_cutter(wanted)) return cutter->pre;
    refuse_tokenizer("one that cuts words by a pattern of its own",
                     "the words of GPT-2, Llama 3, Qwen 2, GPT-4o, Mistral Nemo, OLMo, StarCoder "
                     "or Command R");
  }

  // The earlier two pieces are merged, the higher the score of the result.
  void write_sentence_piece(const Json& model) {
    set("model", "llama");
    std::map<std::string, double, std::less<>> scores;
    double rank = 0;
    for (const Json& merge : model["merges"].items()) {
      const std::string text = merge.is_text() ? *merge.as_text() : "";
      const std::string joint = merge.is_text()
                                    ? text.substr(0, text.find(' ')) +
                                          text.substr(std::min(text.find(' ') + 1, text.size()))
                                    : *merge.items()[0].as_text() + *merge.items()[1].as_text();
      scores.emplace(joint, rank);
      rank -= 1;
    }
    std::vector<double> listed;
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      const auto found = scores.find(pieces_[id]);
      listed.push_back(found == scores.end() ? rank - 1 : found->second);
      if (pieces_[id].size() == 6 && pieces_[id].starts_with("<0x"))
        types_[id] = static_cast<std::int64_t>(Type::kByte);
      if (static_cast<TokenId>(id) == tokenizer_.unknown_token())
        types_[id] = static_cast<std::int64_t>(Type::kUnknown);
    }
    set("scores", Json(listed));
    set("add_bos_token", begins());
    set("add_space_prefix",
        tokenizer_.encode("a", false).ids != tokenizer_.encode(" a", false).ids || has_prefix());
  }

  bool has_prefix() const {
    const std::vector<TokenId> ids = tokenizer_.encode("a", false).ids;
    return !ids.empty() && tokenizer_.piece(ids.front()).starts_with(kSpaceMark);
  }

  void write_word_pieces() {
    set("model", "bert");
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      if (types_[id] != static_cast<std::int64_t>(Type::kNormal)) continue;
      pieces_[id] = pieces_[id].starts_with("##") ? pieces_[id].substr(2)
                                                  : std::string(kSpaceMark) + pieces_[id];
    }
  }

  const Tokenizer& tokenizer_;
  std::int64_t words_;
  JsonText json_;
  Json& metadata_;
  std::vector<std::string> pieces_;
  std::vector<std::int64_t> types_;
};

}  // namespace

void write_token_lists(const Tokenizer& tokenizer, std::int64_t words, Json& metadata) {
  Lists(tokenizer, words, metadata).write();
}

}  // namespace heed
