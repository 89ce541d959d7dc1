#include "train/crops.h"

#include <algorithm>

#include "base/philox.h"

namespace heed {
namespace {

constexpr std::uint64_t kWordsEach = 2;  // of the generator, a draw

Random random_for(RandomUse use, std::uint64_t seed, std::int64_t index) {
  return Random(seed, static_cast<std::uint32_t>(use),
                kWordsEach * static_cast<std::uint64_t>(index));
}

}  // namespace

void CropBatch::put(std::int64_t row, std::span<const TokenId> tokens, std::int64_t begin) {
  const std::int64_t block = ids.dim(1);
  const TokenId* from = tokens.data() + begin;
  std::copy_n(from, block, ids.data<TokenId>() + row * block);
  std::copy_n(from + 1, block, targets.data<TokenId>() + row * block);
}

void CropBatch::put_repeated(std::int64_t row, std::span<const TokenId> tokens, std::int64_t begin,
                             std::int64_t period) {
  const std::int64_t block = ids.dim(1);
  const TokenId* from = tokens.data() + begin;
  TokenId* id = ids.data<TokenId>() + row * block;
  TokenId* target = targets.data<TokenId>() + row * block;
  for (std::int64_t i = 0; i < block; ++i) {
    id[i] = from[i % period];
    target[i] = from[(i + 1) % period];
  }
}

std::int64_t random_crop(std::uint64_t seed, std::int64_t index, std::int64_t token_count,
                         std::int64_t block) {
  Random random = random_for(RandomUse::kCrops, seed, index);
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(token_count - block)));
}

std::int64_t even_crop(std::int64_t index, std::int64_t count, std::int64_t token_count,
                       std::int64_t block) {
  const std::int64_t last = token_count - block - 1;
  return count == 1 ? 0 : index * last / (count - 1);
}

std::optional<std::int64_t> repeat_period(std::uint64_t seed, std::int64_t index, double share,
                                          std::int64_t block) {
  Random random = random_for(RandomUse::kRepeats, seed, index);
  constexpr std::uint64_t kParts = 1'000'000;
  if (static_cast<double>(random.below(kParts)) >= share * kParts) return std::nullopt;
  const std::int64_t least = std::max<std::int64_t>(1, block / 8);
  const std::int64_t most = std::max<std::int64_t>(least, block / 2);
  return least +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t index) {
  Random random = random_for(RandomUse::kDropout, seed, index);
  const std::uint64_t high = random.next_u32();
  return (high << 32) | random.next_u32();
}

}  // namespace heed
