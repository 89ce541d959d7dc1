// Which reader a tokenizer's file needs.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "heed/text/tokenizer.h"
#include "text/readers.h"
#include "text/tokenizer_file.h"

namespace heed {
namespace {

struct Reader {
  std::string_view name;  // for the message that no reader knows the file
  bool (*recognises)(const TokenizerFile&);
  std::unique_ptr<Tokenizer> (*read)(const TokenizerFile&);
};

constexpr Reader kReaders[] = {
    {"byte-level BPE", is_byte_bpe, read_byte_bpe},
    {"characters (BPE without merges)", is_characters, read_characters},
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream)
    fail({.code = ErrorCode::kIo,
          .file = path.string(),
          .found = "cannot be read: " + std::generic_category().message(errno)});
  return content.str();
}

std::unique_ptr<Tokenizer> read_any(const TokenizerFile& file) {
  std::vector<std::string_view> names;
  for (const Reader& reader : kReaders) {
    if (reader.recognises(file)) return reader.read(file);
    names.push_back(reader.name);
  }
  fail({.code = ErrorCode::kUnsupported,
        .file = file.name(),
        .argument = "the kind of tokenizer",
        .found = fmt::format("model {} with normalizer {}, pre_tokenizer {} and decoder {}",
                             file.type_of("model"), file.type_of("normalizer"),
                             file.type_of("pre_tokenizer"), file.type_of("decoder")),
        .expected = fmt::format("one of: {}", fmt::join(names, ", "))});
}

// "left right" a line, behind a line with the version.
std::vector<std::string> read_merges(const std::filesystem::path& path,
                                     const Vocabulary& vocabulary) {
  std::vector<std::string> merges;
  std::istringstream stream(content_of(path));
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string left = line.substr(0, blank);
    const std::string right = line.substr(std::min(blank + 1, line.size()));
    for (const std::string& piece : {left, right, left + right})
      if (vocabulary.find(piece) < 0)
        fail({.code = ErrorCode::kCorrupt,
              .file = path.string(),
              .place = fmt::format("line {}", number),
              .argument = "a merge",
              .found = fmt::format("'{}'", displayable(line)),
              .expected = "two pieces that are in the vocabulary, as their joint form is"});
    merges.push_back(line);
  }
  return merges;
}

// GPT-2's older pair of files, as one: {piece: id}, and a merge a line.
std::unique_ptr<Tokenizer> read_pair(const std::filesystem::path& vocabulary_file,
                                     const std::filesystem::path& merges_file) {
  const JsonText json =
      JsonText::parse(content_of(vocabulary_file), {.file = vocabulary_file.string()});
  Vocabulary vocabulary;
  vocabulary.add_all(json, json.root(), "the vocabulary");
  const std::vector<std::string> merges = read_merges(merges_file, vocabulary);
  std::vector<AddedToken> added;
  if (const TokenId end_of_text = vocabulary.find("<|endoftext|>"); end_of_text >= 0)
    added.push_back({.content = "<|endoftext|>", .id = end_of_text, .special = true});
  return read_byte_bpe(
      TokenizerFile(merges_file.string(), byte_bpe_json(vocabulary.pieces, merges, added)));
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder_or_file) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder_or_file))
    fail({.code = ErrorCode::kNotFound,
          .file = folder_or_file.string(),
          .found = "no such file or folder"});
  fs::path path = folder_or_file;
  if (fs::is_directory(path)) {
    if (fs::exists(path / "vocab.json") && fs::exists(path / "merges.txt") &&
        !fs::exists(path / "tokenizer.json"))
      return read_pair(path / "vocab.json", path / "merges.txt");
    path /= "tokenizer.json";
    if (!fs::exists(path)) return nullptr;
  }
  return read_any(TokenizerFile(path.string(), content_of(path)));
}

}  // namespace heed
