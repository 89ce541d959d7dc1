// Text files line by line: one text a line, for translations and labels.
#pragma once

#include <span>
#include <string>
#include <vector>

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

}  // namespace heed
