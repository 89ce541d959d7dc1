// From text files to the two streams of tokens that next-token training reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"
#include "heed/train/config.h"

namespace heed {

/// Files as they are; of a folder its *.txt files, sorted. kNotFound names what is not there.
std::vector<std::filesystem::path> list_text_files(std::span<const std::string> data);

/// One line a paragraph: a line break inside a paragraph becomes a space, blank lines end it.
std::string rejoin_lines(std::string_view text);

/// Where the last `share` of the text begins, at the start of a character.
std::size_t validation_begin(std::string_view text, double share);

struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

struct TextData {
  std::vector<DataFile> files;
  std::unique_ptr<Tokenizer> tokenizer;
  TokenId separator = -1;  // <|endoftext|>, between files; -1 where the tokenizer has none
  std::vector<TokenId> train;
  std::vector<TokenId> validation;  // the tail of each file
  std::uint64_t digest = 0;         // of both streams
};

/// Reads, cuts, trains or loads the tokenizer, encodes. Too short for one crop: an error.
TextData load_text_data(const TrainConfig& config);

}  // namespace heed
