// Readers of other files than tokenizer.json: each converts its file to the content of one, or to
// the parts.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "heed/tokenizer.h"
#include "text/tokenizer_file.h"

namespace heed {

/// The content of `tokenizer_config.json` beside a tokenizer's file; an empty object if there is
/// none.
JsonText read_tokenizer_config(const std::filesystem::path& folder);

/// `vocab.json` and `merges.txt`.
std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::filesystem::path& vocabulary_file,
                                                      const std::filesystem::path& merges_file);
/// `vocab.txt`: one WordPiece piece per line.
std::unique_ptr<Tokenizer> read_word_piece_file(const std::filesystem::path& path);
/// SentencePiece's protobuf. `vocabulary_file` (Marian) has the ids of its pieces; otherwise they
/// are numbered.
std::unique_ptr<Tokenizer> read_sentence_piece(
    const std::filesystem::path& path,
    const std::optional<std::filesystem::path>& vocabulary_file = {});
/// `*.tiktoken`: per line, a token in base64 and its rank. The file's name decides how words are
/// split.
std::unique_ptr<Tokenizer> read_tiktoken(const std::filesystem::path& path);

/// A whole file.
std::string content_of(const std::filesystem::path& path);

}  // namespace heed
