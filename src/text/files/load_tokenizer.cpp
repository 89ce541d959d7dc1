// Finds the tokenizer among a folder's files.
#include <algorithm>

#include "base/file.h"
#include "heed/error.h"
#include "heed/tokenizer.h"
#include "text/files/config_tokens.h"
#include "text/files/readers.h"
#include "text/pipeline_tokenizer.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> read_json(const fs::path& path) {
  return read_tokenizer(TokenizerFile(path.string(), content_of(path)));
}

std::unique_ptr<Tokenizer> read_json_with_settings(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  TokenizerFile file(path.string(), content_of(path));
  if (auto text = with_settings(file.root(), read_tokenizer_config(folder), folder))
    file = TokenizerFile(path.string(), *std::move(text));
  return read_tokenizer(file);
}

// These classes number pieces and frame texts in ways that a SentencePiece model does not contain.
void refuse_pieces_alone(const fs::path& file) {
  constexpr std::string_view kTypes[] = {"albert", "m2m_100", "mbart", "pegasus"};
  const fs::path path = file.parent_path() / "config.json";
  if (!fs::exists(path)) return;
  const JsonText config = JsonText::parse(content_of(path), {.file = path.string()});
  const std::string* type = config.root()["model_type"].as_text();
  if (type == nullptr || std::ranges::find(kTypes, *type) == std::end(kTypes)) return;
  fail({.code = ErrorCode::kUnsupported,
        .file = file.string(),
        .found = "is that of " + *type,
        .expected = "a tokenizer.json: this file does not hold its ids and special tokens"});
}

// In transformers' order of preference.
std::unique_ptr<Tokenizer> read_folder(const fs::path& folder) {
  const auto has = [&](const char* name) { return fs::exists(folder / name); };
  if (has("tokenizer.json")) return read_json_with_settings(folder);
  if (has("source.spm") && has("vocab.json"))
    return read_sentence_piece(folder / "source.spm", folder / "vocab.json");
  if (has("vocab.json") && has("merges.txt"))
    return read_vocabulary_and_merges(folder / "vocab.json", folder / "merges.txt");
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})
    if (has(name)) {
      refuse_pieces_alone(folder / name);
      return read_sentence_piece(folder / name);
    }
  if (has("vocab.txt")) return read_word_piece_file(folder / "vocab.txt");
  return nullptr;
}

std::unique_ptr<Tokenizer> read_file_by_name(const fs::path& path) {
  const fs::path ending = path.extension();
  if (ending == ".model" || ending == ".spm") return read_sentence_piece(path);
  if (ending == ".tiktoken") return read_tiktoken(path);
  if (ending == ".txt") return read_word_piece_file(path);
  return read_json(path);
}

}  // namespace

std::string content_of(const fs::path& path) { return read_file(path, kMostTokenizerBytes); }

JsonText read_tokenizer_config(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  return JsonText::parse(fs::exists(path) ? content_of(path) : "{}", {.file = path.string()});
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& folder_or_file) {
  if (!fs::exists(folder_or_file))
    fail({.code = ErrorCode::kNotFound,
          .file = folder_or_file.string(),
          .found = "no such file or folder"});
  return fs::is_directory(folder_or_file) ? read_folder(folder_or_file)
                                          : read_file_by_name(folder_or_file);
}

std::unique_ptr<Tokenizer> load_target_tokenizer(const fs::path& folder) {
  if (fs::exists(folder / "tokenizer_target.json"))
    return read_json(folder / "tokenizer_target.json");
  const bool marian = !fs::exists(folder / "tokenizer.json") && fs::exists(folder / "target.spm") &&
                      fs::exists(folder / "vocab.json");
  return marian ? read_sentence_piece(folder / "target.spm", folder / "vocab.json") : nullptr;
}

}  // namespace heed
