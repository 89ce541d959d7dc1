// From text files to the two streams of tokens that training on running text reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/text/tokenizer.h"
#include "heed/train/train.h"
#include "train/task.h"

namespace heed {

struct TextLine {
  std::string text;
  std::string place;  // "train.en: line 7", for errors
};

/// The lines of these files, without their ends; `files` gets what they are. An empty last line
/// does not count.
std::vector<TextLine> read_lines(std::span<const std::string> data, std::vector<DataFile>& files);

/// How many of `rows` are for training; the rest, the last `share` of them, is for validation.
/// Fails where a part that should have rows has none.
std::int64_t training_rows(std::int64_t rows, double share, std::string_view unit);

/// Files as they are; of a folder its *.txt files, sorted. kNotFound names what is not there.
std::vector<std::filesystem::path> list_text_files(std::span<const std::string> data);

/// One line a paragraph: a line break inside a paragraph becomes a space, blank lines end it.
std::string rejoin_lines(std::string_view text);

/// Where the last `share` of the text begins, at the start of a character.
std::size_t validation_begin(std::string_view text, double share);

/// The content of a file; bytes that are not UTF-8 are an error that tells where.
std::string read_text(const std::filesystem::path& path);

/// The tokenizer that the value of `key` asks for, made for the configuration's task; what is
/// learned, is learned from `text`.
std::unique_ptr<Tokenizer> make_tokenizer(const TrainConfig& config, const std::string& wanted,
                                          std::string_view text,
                                          std::string_view key = "tokenizer");

struct TextData : TaskData {
  std::vector<TokenId> train;
  std::vector<TokenId> validation;  // the tail of each file
  TokenId first = -1;               // what every sequence begins with; -1: nothing
};

/// "1000 tokens for training, ...": of the card.
std::string stream_sizes(const TrainConfig& config, const TextData& data);

/// Reads, cuts, trains or loads the tokenizer, encodes. Too short for one crop: an error.
TextData load_text_data(const TrainConfig& config);

}  // namespace heed
