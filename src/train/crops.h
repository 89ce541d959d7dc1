// Examples, each a sequence of a step, and passes of them as tensors. Cuts a token stream into
// examples, and makes a run's random choices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/philox.h"
#include "heed/model.h"
#include "heed/tokenizer.h"
#include "heed/train.h"
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

/// The purpose of a random number; each has its own Philox stream.
enum class RandomUse : std::uint32_t {
  kCrops = 1,
  kDropout = 2,
  kRepeats = 3,
  kMasks = 4,
  kValidationMasks = 5,
  kRows = 6,  // of a table of texts
  kGenerated = 7,
  kValidationGenerated = 8,
  kStories = 9,
  kRandomRepeats = 10,
  kRandomTokens = 11,
  kEpochs = 12,
};

/// More random numbers than one example uses.
inline constexpr std::uint64_t kWordsOfExample = std::uint64_t{1} << 24;

/// The random numbers of draw `index`, at most `words`, which depend only on seed and index.
Random random_for(RandomUse use, std::uint64_t seed, std::int64_t index, std::uint64_t words = 2);

/// The tokens from `begin` on and, shifted by one, the targets; `tokens` must hold at least block +
/// 1 from there.
void crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
          Example& example);
/// The same, but the example starts again after `period` tokens.
void repeated_crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
                   std::int64_t period, Example& example);

/// Where a run's crop number `index` begins. Depends only on seed and index, so a resumed run, or
/// one divided into passes differently, sees the same crops.
std::int64_t random_crop(std::uint64_t seed, std::int64_t index, std::int64_t token_count,
                         std::int64_t block);

/// The example at `index` of a run that takes each of `count` once per epoch. Each epoch has its
/// own order, which depends only on seed and index.
std::int64_t shuffled(std::uint64_t seed, std::int64_t index, std::int64_t count);

/// Row `index` of a run over a table: drawn at random, or each once per epoch.
std::size_t row_of(const TrainConfig& config, std::int64_t index, std::int64_t count);

/// Crop `index` of `count`, spread evenly from the first token to the last.
std::int64_t even_crop(std::int64_t index, std::int64_t count, std::int64_t token_count,
                       std::int64_t block);

/// The period after which a sequence starts again: uniform from a `part`-th of its length to a
/// half.
std::int64_t drawn_period(Random& random, std::int64_t length, std::int64_t part);

/// Which crops repeat themselves: a fraction `share`, each after a period between an eighth and a
/// half of its length; empty for the others. Depends only on seed and index, like `random_crop`.
std::optional<std::int64_t> repeat_period(std::uint64_t seed, std::int64_t index, double share,
                                          std::int64_t block);

/// The seed of the dropout masks for a run's pass number `index`.
std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t index);

}  // namespace heed
