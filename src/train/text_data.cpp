#include "train/text_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/file.h"
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "models/model_tokenizer.h"
#include "text/byte_bpe.h"
#include "text/word_level.h"
#include "text/word_piece.h"
#include "train/generated/stories.h"
#include "train/initial_weights.h"
#include "train/special_tokens.h"

namespace heed {
namespace {

constexpr std::string_view kSeparator = "<|endoftext|>";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some programs begin UTF-8 with it

std::vector<std::filesystem::path> texts_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".txt")
      files.push_back(entry.path());
  if (files.empty())
    fail({.code = ErrorCode::kNotFound,
          .op = "train",
          .file = folder.string(),
          .found = "a folder without .txt files"});
  std::ranges::sort(files);
  return files;
}

std::unique_ptr<Tokenizer> named_tokenizer(const std::string& wanted) {
  if (std::filesystem::exists(wanted)) return load_model_tokenizer(wanted);
  for (const FoundModel& model : list_models())
    if (model.by_name && model.name == wanted) return load_model_tokenizer(model.folder);
  return nullptr;
}

// The tokenizer of the model from which the run continues.
std::unique_ptr<Tokenizer> own_tokenizer(const TrainConfig& config) {
  auto own = load_model_tokenizer(start_folder(config));
  if (own == nullptr)
    fail("train", "start_from", "a model without a tokenizer", "one, or tokenizer given");
  return own;
}

std::unique_ptr<Tokenizer> learned_pieces(const TrainConfig& config, const std::string& wanted,
                                          std::string_view text, const LearnedSpecials& special) {
  return reworded(
      [&] {
        if (wanted == "word-piece")
          return train_word_piece(text, {.vocabulary_size = config.vocabulary, .special = special});
        return train_byte_bpe(text, {.vocabulary_size = config.vocabulary,
                                     .special_tokens = special.tokens,
                                     .begin = special.begin,
                                     .end = special.end});
      },
      [](ErrorParts& parts) {
        parts.op = "train";
        if (parts.argument.text() == "vocabulary_size") parts.argument = "vocabulary";
      });
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_file(path, most_data_bytes());
  const std::int64_t invalid = find_invalid_utf8(text);
  if (invalid >= 0)
    fail({.code = ErrorCode::kCorrupt,
          .op = "train",
          .file = path.string(),
          .place = fmt::format("byte {}", invalid),
          .found = "not valid UTF-8"});
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

namespace {

bool trains_qwen2(const TrainConfig& config) {
  const JsonText entries = JsonText::parse(config.model, {.file = "train: model"});
  return entries.root()["model_type"] == Json("qwen2");
}

std::unique_ptr<Tokenizer> wanted_tokenizer(const TrainConfig& config, const std::string& wanted,
                                            std::string_view text, std::string_view key) {
  const LearnedSpecials special = learned_specials(config.task, config.add_bos_token);
  const bool learns =
      (wanted == "characters" && config.start_from.empty()) || learns_pieces(wanted);
  if (learns && text.empty()) fail("train", "data", "empty", "a text");
  if (wanted == "characters" && !config.start_from.empty()) return own_tokenizer(config);
  if (wanted == "characters" && trains_qwen2(config)) return train_qwen2_characters(text);
  if (wanted == "characters")
    return train_characters(text, config.task == "lm" ? LearnedSpecials() : special);
  if (learns_pieces(wanted)) return learned_pieces(config, wanted, text, special);
  std::unique_ptr<Tokenizer> tokenizer = named_tokenizer(wanted);
  if (tokenizer == nullptr)
    fail({.code = ErrorCode::kNotFound,
          .op = "train",
          .argument = key,
          .found = fmt::format("\"{}\"", wanted),
          .expected =
              "\"characters\", \"byte-bpe\", \"word-piece\", a tokenizer's file or folder, or a "
              "model's name"});
  return tokenizer;
}

}  // namespace

// The starting model may have more ids than the tokenizer has tokens.
std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& wanted,
                                          std::string_view text, std::string_view key) {
  return padded(wanted_tokenizer(config, wanted, text, key), std::numeric_limits<TokenId>::max());
}

namespace {

struct TextHalves {
  std::vector<std::string> train;
  std::vector<std::string> validation;
};

void add_stories(const TrainConfig& config, TextHalves& texts, TextData& data) {
  texts.train.push_back(generated_stories(static_cast<std::uint64_t>(config.seed), config.stories));
  DataFile& file = data.files.emplace_back();
  file.path = "stories that heed generated";
  file.bytes = std::ssize(texts.train.back());
}

void add_validation(const TrainConfig& config, TextHalves& texts, TextData& data) {
  for (const std::filesystem::path& path : list_text_files(config.validation_data)) {
    const std::string text = read_text(path);
    data.files.push_back({path.string(), std::ssize(text)});
    texts.validation.push_back(config.rejoin_lines ? rejoin_lines(text) : text);
  }
}

// Characters are collected from the whole text, so that validation has no unknown ones; pieces are
// learned only from the training part.
std::string learned_text(const TrainConfig& config, const TextHalves& texts) {
  std::string all;
  for (const std::string& text : texts.train) all += text;
  if (config.tokenizer == "characters")
    for (const std::string& text : texts.validation) all += text;
  return all;
}

std::vector<TokenId> encode_all(std::span<const std::string> texts, const Tokenizer& tokenizer,
                                TokenId separator) {
  std::vector<TokenId> ids;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    if (separator >= 0) ids.push_back(separator);
    const Encoding encoding = tokenizer.encode(text, /*add_special=*/false);
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
  }
  return ids;
}

void check_lengths(const TrainConfig& config, const TextData& data) {
  const auto wanted = static_cast<std::size_t>(config.block) + 1;
  const auto check = [&](std::size_t tokens, std::string_view part, std::string_view or_else) {
    if (tokens < wanted)
      fail("train", "data", number_of(tokens, fmt::format("{} token", part)),
           fmt::format("at least block + 1 = {}{}", wanted, or_else));
  };
  check(data.train.size(), "training", "");
  if (config.validation > 0) check(data.validation.size(), "validation", ", or validation 0");
}

}  // namespace

std::vector<std::filesystem::path> list_text_files(std::span<const std::string> data) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path path : data) {
    if (!std::filesystem::exists(path))
      fail({.code = ErrorCode::kNotFound,
            .op = "train",
            .file = path.string(),
            .found = "no such file or folder"});
    if (std::filesystem::is_directory(path)) {
      std::ranges::copy(texts_in(path), std::back_inserter(files));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

std::string rejoin_lines(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  std::string joined;
  bool inside = false;  // a paragraph
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
      if (inside) joined += '\n';
      inside = false;
      continue;
    }
    line = line.substr(first, line.find_last_not_of(kBlank) - first + 1);
    if (inside) joined += ' ';
    joined += line;
    inside = true;
  }
  if (inside) joined += '\n';
  return joined;
}

std::size_t validation_begin(std::string_view text, double share) {
  auto begin = static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - share));
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return begin;
}

namespace {

TokenId first_token_of(const Tokenizer& tokenizer) {
  const std::vector<TokenId> frame = tokenizer.encode("", /*add_special=*/true).ids;
  if (frame.empty())
    fail("train", "add_bos_token", "true", "false: the tokenizer puts no token before a text");
  return frame.front();
}

}  // namespace

TextData load_text_data(const TrainConfig& config) {
  TextData data;
  TextHalves texts;
  for (const std::filesystem::path& path : list_text_files(config.data)) {
    std::string text = read_text(path);
    data.files.push_back({path.string(), std::ssize(text)});
    if (config.rejoin_lines) text = rejoin_lines(text);
    const double share = config.validation_data.empty() ? config.validation : 0;
    const std::size_t cut = validation_begin(text, share);
    texts.validation.push_back(text.substr(cut));
    text.resize(cut);
    texts.train.push_back(std::move(text));
  }
  add_validation(config, texts, data);
  if (config.stories > 0) add_stories(config, texts, data);
  data.tokenizer = make_tokenizer(config, config.tokenizer, learned_text(config, texts));
  if (config.add_bos_token) data.first = first_token_of(*data.tokenizer);
  data.separator = data.tokenizer->find(kSeparator);
  if (data.separator < 0) data.separator = data.first;
  data.train = encode_all(texts.train, *data.tokenizer, data.separator);
  data.validation = encode_all(texts.validation, *data.tokenizer, data.separator);
  Digest digest;
  digest.add(data.train);
  digest.add(data.validation);
  data.digest = digest.value();
  check_lengths(config, data);
  return data;
}

std::string stream_sizes(const TrainConfig& config, const TextData& data) {
  const std::string from =
      config.validation_data.empty()
          ? fmt::format("the last {:g} % of each file", 100 * config.validation)
          : "files of their own";
  return fmt::format("{} for training, {} for validation ({}).\n",
                     number_of(data.train.size(), "token"), data.validation.size(), from);
}

}  // namespace heed
