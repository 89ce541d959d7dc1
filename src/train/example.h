// What one sequence of a step is, and a pass's sequences laid out as tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"
#include "ops/loss.h"

namespace heed {

/// What the model reads, and what it should answer: one target a token, or one in all for a label
/// of the whole text; kIgnoredTarget where nothing is asked.
struct Example {
  std::vector<TokenId> ids = {};
  std::vector<TokenId> targets = {};
  std::vector<TokenId> types = {};   // of pairs of texts: which one, one an id
  std::vector<TokenId> source = {};  // what an encoder-decoder's encoder reads

  void clear();
  std::int64_t counted() const;  // targets that are asked
};

/// Room for one pass, filled again and again. Shorter sequences are padded to the longest.
class ExampleBatch {
 public:
  /// Empties the batch; `rows` examples follow.
  void begin(std::int64_t rows);
  Example& row(std::int64_t row) { return examples_[static_cast<std::size_t>(row)]; }
  /// Makes the tensors of what the rows hold.
  void lay_out();

  /// Views that live until the next `lay_out`; the run gets the lengths of padded rows.
  Batch batch() const { return batch_; }
  ConstView targets() const { return targets_; }
  const Extents& extents() const { return extents_; }
  std::int64_t counted() const { return counted_; }
  /// Rows of the products in the pass.
  std::int64_t tokens() const;

 private:
  std::vector<Example> examples_;
  std::int64_t rows_ = 0;
  std::vector<TokenId> ids_memory_, targets_memory_, types_memory_, source_memory_;
  Batch batch_;
  ConstView targets_;
  Extents extents_;
  std::int64_t counted_ = 0;
};

}  // namespace heed
