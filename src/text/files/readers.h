// The files that are no tokenizer.json: each is read into the content of one, or into the parts.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "heed/text/tokenizer.h"
#include "text/tokenizer_file.h"

namespace heed {

/// What `tokenizer_config.json` beside a tokenizer's file says; an empty object where there is
/// none.
JsonText read_tokenizer_config(const std::filesystem::path& folder);

/// `vocab.json` and `merges.txt`.
std::unique_ptr<Tokenizer> read_vocabulary_and_merges(const std::filesystem::path& vocabulary_file,
                                                      const std::filesystem::path& merges_file);
/// `vocab.txt`: a WordPiece piece a line.
std::unique_ptr<Tokenizer> read_word_piece_file(const std::filesystem::path& path);
/// SentencePiece's protobuf. `vocabulary_file` (Marian) has the ids of its pieces, else they are
/// numbered.
std::unique_ptr<Tokenizer> read_sentence_piece(
    const std::filesystem::path& path,
    const std::optional<std::filesystem::path>& vocabulary_file = {});
/// `*.tiktoken`: a token in base64 and its rank a line. The file's name tells how it cuts words.
std::unique_ptr<Tokenizer> read_tiktoken(const std::filesystem::path& path);

/// A whole file.
std::string content_of(const std::filesystem::path& path);

}  // namespace heed
