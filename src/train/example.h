// One sequence of a step, and a pass's sequences as tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/model.h"
#include "heed/tokenizer.h"
#include "ops/loss.h"

namespace heed {

/// The model's input and the expected answers: one target per token, or a single one for a label of
/// the whole text; kIgnoredTarget where no answer is expected.
struct Example {
  std::vector<TokenId> ids = {};
  std::vector<TokenId> targets = {};
  std::vector<TokenId> types = {};   // for pairs of texts: which text, one per id
  std::vector<TokenId> source = {};  // input of an encoder-decoder's encoder

  void clear();
  std::int64_t counted() const;  // number of expected answers
};

/// Memory for one pass, reused for every pass. Shorter sequences are padded to the longest.
class ExampleBatch {
 public:
  /// Empties the batch; `rows` examples follow.
  void begin(std::int64_t rows);
  Example& row(std::int64_t row) { return examples_[static_cast<std::size_t>(row)]; }
  /// Makes the tensors from the rows.
  void lay_out();

  /// Views that are valid until the next `lay_out`; the run gets the lengths of padded rows.
  Batch batch() const { return batch_; }
  ConstView targets() const { return targets_; }
  const Extents& extents() const { return extents_; }
  std::int64_t counted() const { return counted_; }
  /// Number of rows in the pass's matrix products.
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
