// Which reader a tokenizer's file needs.
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
    fail(ErrorCode::kIo, "{}: cannot be read: {}", path.string(),
         std::generic_category().message(errno));
  return content.str();
}

std::unique_ptr<Tokenizer> read_any(const TokenizerFile& file) {
  std::vector<std::string_view> names;
  try {
    for (const Reader& reader : kReaders) {
      if (reader.recognises(file)) return reader.read(file);
      names.push_back(reader.name);
    }
  } catch (const Json::exception& error) {  // a member of another type than it should have
    file.fail_with(ErrorCode::kCorrupt, "not the form of a tokenizer.json: {}", error.what());
  }
  file.fail_with(
      ErrorCode::kUnsupported,
      "no reader for model {} with normalizer {}, pre_tokenizer {} and decoder {}; known "
      "are {}",
      file.type_of("model"), file.type_of("normalizer"), file.type_of("pre_tokenizer"),
      file.type_of("decoder"), fmt::join(names, ", "));
}

// GPT-2's older pair of files, as one: {piece: id}, and a merge a line.
std::unique_ptr<Tokenizer> read_pair(const std::filesystem::path& vocabulary,
                                     const std::filesystem::path& merges) {
  const Json entries = Json::parse(content_of(vocabulary), nullptr, /*allow_exceptions=*/false);
  if (entries.is_discarded()) fail(ErrorCode::kCorrupt, "{}: not JSON", vocabulary.string());
  const TokenizerFile checked(vocabulary.string(), Json{{"model", {{"vocab", entries}}}}.dump());
  const std::vector<std::string> pieces = checked.vocabulary().pieces;
  std::vector<std::string> lines;
  std::istringstream stream(content_of(merges));
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) lines.push_back(line);
  }
  std::vector<AddedToken> added;
  const auto end_of_text = std::ranges::find(pieces, "<|endoftext|>");
  if (end_of_text != pieces.end())
    added.push_back({.content = *end_of_text,
                     .id = static_cast<TokenId>(end_of_text - pieces.begin()),
                     .special = true});
  return read_byte_bpe(TokenizerFile(merges.string(), byte_bpe_json(pieces, lines, added)));
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder_or_file) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder_or_file))
    fail(ErrorCode::kNotFound, "{}: no such file or folder", folder_or_file.string());
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
