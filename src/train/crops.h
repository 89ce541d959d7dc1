// Pieces of a token stream as a batch: ids and, one place further on, the targets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "heed/tensor/tensor.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// What a random number is drawn for; each use has its own Philox stream.
enum class RandomUse : std::uint32_t { kCrops = 1, kDropout = 2, kRepeats = 3 };

/// Room for one batch, filled again and again.
struct CropBatch {
  CropBatch(std::int64_t batch, std::int64_t block)
      : ids(Tensor::empty({batch, block}, DType::kI32)),
        targets(Tensor::empty({batch, block}, DType::kI32)) {}
  /// Row `row` gets the tokens from `begin` on; `tokens` holds at least block + 1 from there.
  void put(std::int64_t row, std::span<const TokenId> tokens, std::int64_t begin);
  /// The same, but after `period` tokens the row begins again.
  void put_repeated(std::int64_t row, std::span<const TokenId> tokens, std::int64_t begin,
                    std::int64_t period);

  Tensor ids;      // [B, T] i32
  Tensor targets;  // [B, T] i32
};

/// Where the crop number `index` of a run begins: a function of seed and index alone, so that a
/// resumed run, or one with another cut into passes, sees the same crops.
std::int64_t random_crop(std::uint64_t seed, std::int64_t index, std::int64_t token_count,
                         std::int64_t block);

/// Crop `index` of `count`, spread evenly from the first token to the last.
std::int64_t even_crop(std::int64_t index, std::int64_t count, std::int64_t token_count,
                       std::int64_t block);

/// Which crops repeat themselves: a share of `share`, each after a period between an eighth and a
/// half of its length; none for the others. A function of seed and index, as `random_crop`.
std::optional<std::int64_t> repeat_period(std::uint64_t seed, std::int64_t index, double share,
                                          std::int64_t block);

/// The dropout masks of pass number `index` of a run.
std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t index);

}  // namespace heed
