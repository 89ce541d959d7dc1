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

/// FNV-1a, word by word.
class Digest {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001B3; }
  /// The ids and their count.
  void add(std::span<const TokenId> ids) {
    add(ids.size());
    for (const TokenId id : ids) add(static_cast<std::uint32_t>(id));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace heed
