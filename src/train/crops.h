// Pieces of a token stream as examples, and the random choices of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/philox.h"
#include "heed/text/tokenizer.h"
#include "heed/train/train.h"
#include "train/example.h"

namespace heed {

/// What a random number is drawn for; each use has its own Philox stream.
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

/// More numbers than one example draws.
inline constexpr std::uint64_t kWordsOfExample = std::uint64_t{1} << 24;

/// The numbers of draw `index`, of which there may be `words`: a function of seed and index alone.
Random random_for(RandomUse use, std::uint64_t seed, std::int64_t index, std::uint64_t words = 2);

/// The tokens from `begin` on and, one place further on, the targets; `tokens` holds at least
/// block + 1 from there.
void crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
          Example& example);
/// The same, but after `period` tokens the example begins again.
void repeated_crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
                   std::int64_t period, Example& example);

/// Where the crop number `index` of a run begins: a function of seed and index alone, so that a
/// resumed run, or one with another cut into passes, sees the same crops.
std::int64_t random_crop(std::uint64_t seed, std::int64_t index, std::int64_t token_count,
                         std::int64_t block);

/// The example that a run takes at `index` if it takes each of `count` once an epoch. Each epoch
/// has its own order, a function of seed and index alone.
std::int64_t shuffled(std::uint64_t seed, std::int64_t index, std::int64_t count);

/// Row `index` of a run over a table: drawn, or each once an epoch.
std::size_t row_of(const TrainConfig& config, std::int64_t index, std::int64_t count);

/// Crop `index` of `count`, spread evenly from the first token to the last.
std::int64_t even_crop(std::int64_t index, std::int64_t count, std::int64_t token_count,
                       std::int64_t block);

/// After how many tokens a sequence begins again: evenly from a `part`-th of its length to a half.
std::int64_t drawn_period(Random& random, std::int64_t length, std::int64_t part);

/// Which crops repeat themselves: a share of `share`, each after a period between an eighth and a
/// half of its length; none for the others. A function of seed and index, as `random_crop`.
std::optional<std::int64_t> repeat_period(std::uint64_t seed, std::int64_t index, double share,
                                          std::int64_t block);

/// The dropout masks of pass number `index` of a run.
std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t index);

}  // namespace heed
