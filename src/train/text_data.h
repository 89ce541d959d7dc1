// Reads text files into the two token streams for training on running text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tokenizer.h"
#include "heed/train.h"
#include "train/task.h"

namespace heed {

struct TextLine {
  std::string text;
  std::string place;  // "train.en: line 7", for errors
};

/// The lines of these files, without line ends; also describes the files in `files`. An empty last
/// line is ignored.
std::vector<TextLine> read_lines(std::span<const std::string> data, std::vector<DataFile>& files);

/// How many of `rows` are for training; the last fraction `share` is for validation. Throws if a
/// part that needs rows has none.
std::int64_t training_rows(std::int64_t rows, double share, std::string_view unit);

/// Files themselves; for a folder its *.txt files, sorted. kNotFound names what is missing.
std::vector<std::filesystem::path> list_text_files(std::span<const std::string> data);

/// One line per paragraph: a line break inside a paragraph becomes a space, empty lines end it.
std::string rejoin_lines(std::string_view text);

/// Where the last fraction `share` of the text begins, at the start of a character.
std::size_t validation_begin(std::string_view text, double share);

/// The content of a file; the error for invalid UTF-8 gives the place.
std::string read_text(const std::filesystem::path& path);

/// The tokenizer requested by the value of `key`, made for the configuration's task; if it is
/// trained, then on `text`.
std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& wanted,
                                          std::string_view text,
                                          std::string_view key = "tokenizer");

struct TextData : TaskData {
  std::vector<TokenId> train;
  std::vector<TokenId> validation;  // the end of each file
  TokenId first = -1;               // first token of every sequence; -1: none
};

/// "1000 tokens for training, ...": for the card.
std::string stream_sizes(const TrainConfig& config, const TextData& data);

/// Reads the files, splits them, trains or loads the tokenizer, and encodes. Text too short for one
/// crop is an error.
TextData load_text_data(const TrainConfig& config);

}  // namespace heed
