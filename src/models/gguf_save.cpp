#include "models/gguf_save.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/formats/json.h"
#include "heed/error.h"
#include "io/gguf_writer.h"
#include "models/config.h"
#include "models/gguf_architecture.h"
#include "text/files/sentence_piece_model.h"
#include "text/pipeline/pattern.h"
#include "text/utf8.h"

namespace heed {
namespace {

constexpr std::pair<std::string_view, std::int64_t> kFileTypes[] = {
    {"F32", 0}, {"F16", 1}, {"BF16", 32}, {"Q8_0", 7}, {"Q4_0", 2}};

// --- tensors ---

Tensor stored_as(const Tensor& hub, GgufChange change, const ModelInfo& info) {
  switch (change) {
    case GgufChange::kNone:
      return hub.share();
    case GgufChange::kQueryRows:
      return regrouped(hub, info.heads, 2);
    case GgufChange::kKeyRows:
      return regrouped(hub, info.kv_heads, 2);
    case GgufChange::kTransposed:
      return hub.rank() == 2 ? Tensor::copy_of(hub.view().permute({1, 0})) : hub.share();
    case GgufChange::kLessOne:
      break;
  }
  Tensor more = hub.clone();
  for (std::int64_t i = 0; i < more.element_count(); ++i) more.data<float>()[i] += 1;
  return more;
}

const GgufType* type_of(const Tensor& tensor, const GgufType* wanted) {
  if (tensor.rank() < 2) return gguf_type_named("F32");
  return tensor.dim(-1 + tensor.rank()) % wanted->elements == 0 ? wanted : gguf_type_named("F16");
}

// --- tokenizers ---

using Type = SentencePieceModel::Type;

[[noreturn]] void refuse_tokenizer(Phrase found, Phrase expected) {
  fail({.code = ErrorCode::kUnsupported,
        .op = "gguf",
        .argument = "the tokenizer",
        .found = std::move(found),
        .expected = std::move(expected)});
}

/// The lists of a GGUF file, of the content of a tokenizer.json.
class Lists {
 public:
  Lists(const Tokenizer& tokenizer, Json& metadata)
      : tokenizer_(tokenizer),
        json_(JsonText::parse(tokenizer.to_json(), {.file = "tokenizer"})),
        metadata_(metadata) {}

  void write() {
    const Json& model = json_.root()["model"];
    const std::string kind = model["type"].as_text() == nullptr ? "" : *model["type"].as_text();
    read_pieces();
    if (kind == "BPE" && is_of_bytes())
      write_byte_bpe(model);
    else if (kind == "BPE")
      write_sentence_piece(model);
    else if (kind == "WordPiece")
      write_word_pieces();
    else
      refuse_tokenizer(kind.empty() ? "of no kind" : kind, "BPE or WordPiece");
    set("tokens", Json(pieces_));
    set("token_type", Json(types_));
    for (const auto& [key, name] : kSpecial)
      if (const TokenId id = tokenizer_.find(name);
          id >= 0 && tokenizer_.is_special(id) && !metadata_.has(whole(key)))
        set(key, std::int64_t{id});
  }

 private:
  // llama.cpp calls BERT's [CLS] the token that begins a text.
  static constexpr std::pair<const char*, std::string_view> kSpecial[] = {
      {"bos_token_id", "<s>"},
      {"bos_token_id", "<bos>"},
      {"bos_token_id", "<|begin_of_text|>"},
      {"bos_token_id", "[CLS]"},
      {"eos_token_id", "</s>"},
      {"eos_token_id", "<eos>"},
      {"eos_token_id", "<|endoftext|>"},
      {"unknown_token_id", "<unk>"},
      {"unknown_token_id", "[UNK]"},
      {"padding_token_id", "<pad>"},
      {"padding_token_id", "[PAD]"},
      {"seperator_token_id", "[SEP]"},
      {"mask_token_id", "[MASK]"},
      {"mask_token_id", "<mask>"}};

  static std::string whole(std::string_view key) { return "tokenizer.ggml." + std::string(key); }
  void set(std::string_view key, Json value) { metadata_.set(whole(key), std::move(value)); }

  void read_pieces() {
    for (TokenId id = 0; id < tokenizer_.vocabulary_size(); ++id) {
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

  // A template, or RoBERTa's frame, puts tokens around a text.
  bool begins() const {
    const std::vector<TokenId> ids = tokenizer_.encode("", true).ids;
    return !ids.empty();
  }

  void write_byte_bpe(const Json& model) {
    set("model", "gpt2");
    set("pre", words());
    std::vector<std::string> merges;
    for (const Json& merge : model["merges"].items())
      merges.push_back(merge.is_text() ? *merge.as_text()
                       : merge.items().size() == 2
                           ? *merge.items()[0].as_text() + " " + *merge.items()[1].as_text()
                           : "");
    set("merges", Json(merges));
    set("add_bos_token", begins());
  }

  // llama.cpp's name of how words are cut.
  std::string words() const {
    std::vector<const Json*> parts = {&json_.root()["pre_tokenizer"]};
    for (const Json& part : parts.front()->operator[]("pretokenizers").items())
      parts.push_back(&part);
    for (const Json* part : parts) {
      const std::string* regex = (*part)["pattern"]["Regex"].as_text();
      if (regex == nullptr) continue;
      if (*regex == kGpt4Words) return "llama-bpe";
      if (*regex == kQwen2Words) return "qwen2";
      if (*regex == kGpt4oWords) return "gpt-4o";
      refuse_tokenizer("one that cuts words by a pattern of its own",
                       "the words of GPT-2, Llama 3, Qwen 2 or GPT-4o");
    }
    return "gpt-2";
  }

  // The earlier two pieces are joined, the higher the score of what they become.
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
  JsonText json_;
  Json& metadata_;
  std::vector<std::string> pieces_;
  std::vector<std::int64_t> types_;
};

}  // namespace

std::vector<std::string_view> gguf_written_types() {
  std::vector<std::string_view> types;
  for (const auto& [name, id] : kFileTypes) types.push_back(name);
  return types;
}

void save_gguf(const std::filesystem::path& path, const LoadedModel& model, std::string_view type) {
  const auto* file_type =
      std::ranges::find(kFileTypes, type, &std::pair<std::string_view, std::int64_t>::first);
  if (file_type == std::end(kFileTypes))
    fail("gguf", "type", type, fmt::format("one of {}", fmt::join(gguf_written_types(), ", ")));
  const Config config = Config::parse(model.model->config_json(), "config");
  const GgufArchitecture& architecture = gguf_architecture(config);
  Json metadata = {{"general.architecture", architecture.name},
                   {"general.name", model.name},
                   {"general.file_type", file_type->second},
                   {"general.quantization_version", 2}};
  const Json keys = architecture.keys(config);
  for (const auto& [key, value] : keys.members())
    metadata.set(fmt::format("{}.{}", architecture.name, key), value);
  if (model.tokenizer) Lists(*model.tokenizer, metadata).write();
  const ModelInfo& info = model.model->info();
  if (info.first_token >= 0) metadata.set("tokenizer.ggml.bos_token_id", info.first_token);
  if (!info.end_tokens.empty())
    metadata.set("tokenizer.ggml.eos_token_id", info.end_tokens.front());
  std::vector<Tensor> kept;
  std::vector<GgufOut> out;
  for (const Parameter* parameter : std::as_const(*model.model).parameters()) {
    const std::optional<RenamedTensor> stored =
        renamed(architecture, parameter->name, &GgufName::hub, &GgufName::stored);
    // BERT's head, which llama.cpp does not have.
    if (!stored && parameter->name.starts_with("cls.")) continue;
    if (!stored)
      fail({.code = ErrorCode::kUnsupported,
            .op = "gguf",
            .argument = parameter->name,
            .found = "a tensor that GGUF has no name for",
            .expected = "those of the architecture alone"});
    kept.push_back(stored_as(parameter->value, stored->change, info));
    out.push_back({.name = stored->name,
                   .view = kept.back().view(),
                   .type = type_of(kept.back(), gguf_type_named(type))});
  }
  write_gguf(path, metadata, out);
}

}  // namespace heed
