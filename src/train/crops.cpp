#include "train/crops.h"

#include <algorithm>
#include <array>
#include <utility>

namespace heed {
namespace {

// Rows of different lengths as one matrix, padded with a fill value.
ConstView laid_out(std::span<const Example> rows, std::vector<TokenId> Example::* member,
                   TokenId filler, std::vector<TokenId>& memory) {
  std::size_t longest = 0;
  for (const Example& row : rows) longest = std::max(longest, (row.*member).size());
  memory.assign(rows.size() * longest, filler);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(rows[i].*member, memory.begin() + static_cast<std::ptrdiff_t>(i * longest));
  const Shape shape = {std::ssize(rows), static_cast<std::int64_t>(longest)};
  return ConstView(memory.data(), DType::kI32, shape);
}

std::vector<std::int64_t> lengths_of(std::span<const Example> rows,
                                     std::vector<TokenId> Example::* member) {
  std::vector<std::int64_t> lengths;
  for (const Example& row : rows) lengths.push_back(std::ssize(row.*member));
  return lengths;
}

bool differ(std::span<const std::int64_t> lengths) {
  return std::ranges::any_of(lengths, [&](std::int64_t length) { return length != lengths[0]; });
}

}  // namespace

void Example::clear() {
  ids.clear();
  targets.clear();
  types.clear();
  source.clear();
}

std::int64_t Example::counted() const {
  return std::ranges::count_if(targets, [](TokenId target) { return target != kIgnoredTarget; });
}

void ExampleBatch::begin(std::int64_t rows) {
  rows_ = rows;
  if (std::ssize(examples_) < rows) examples_.resize(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) row(i).clear();
}

void ExampleBatch::lay_out() {
  const std::span<const Example> rows(examples_.data(), static_cast<std::size_t>(rows_));
  batch_ = {.ids = laid_out(rows, &Example::ids, 0, ids_memory_)};
  targets_ = laid_out(rows, &Example::targets, kIgnoredTarget, targets_memory_);
  counted_ = 0;
  for (const Example& row : rows) counted_ += row.counted();
  extents_ = {};
  if (std::vector<std::int64_t> lengths = lengths_of(rows, &Example::ids); differ(lengths)) {
    extents_.query_length = lengths;
    extents_.key_length = std::move(lengths);
  }
  const bool typed =
      std::ranges::any_of(rows, [](const Example& row) { return !row.types.empty(); });
  if (typed) batch_.types = laid_out(rows, &Example::types, 0, types_memory_);
  if (rows.empty() || rows[0].source.empty()) return;
  batch_.source = laid_out(rows, &Example::source, 0, source_memory_);
  if (std::vector<std::int64_t> lengths = lengths_of(rows, &Example::source); differ(lengths))
    batch_.source_lengths = std::move(lengths);
}

std::int64_t ExampleBatch::tokens() const {
  return batch_.ids.element_count() + (batch_.source.given() ? batch_.source.element_count() : 0);
}

Random random_for(RandomUse use, std::uint64_t seed, std::int64_t index, std::uint64_t words) {
  return Random(seed, static_cast<std::uint32_t>(use), words * static_cast<std::uint64_t>(index));
}

void crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
          Example& example) {
  const auto from = tokens.begin() + begin;
  example.ids.assign(from, from + block);
  example.targets.assign(from + 1, from + block + 1);
}

void repeated_crop(std::span<const TokenId> tokens, std::int64_t begin, std::int64_t block,
                   std::int64_t period, Example& example) {
  const auto from = tokens.begin() + begin;
  for (std::int64_t i = 0; i < block; ++i) {
    example.ids.push_back(from[i % period]);
    example.targets.push_back(from[(i + 1) % period]);
  }
}

std::int64_t random_crop(std::uint64_t seed, std::int64_t index, std::int64_t token_count,
                         std::int64_t block) {
  Random random = random_for(RandomUse::kCrops, seed, index);
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(token_count - block)));
}

namespace {

// The halves of a number change each other (Luby and Rackoff 1988): a permutation without a table.
std::uint64_t mixed(std::uint64_t value, int half, std::span<const std::uint32_t> keys) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = value >> half, right = value & mask;
  for (const std::uint32_t key : keys) {
    std::uint64_t hash = (right ^ key) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
    hash *= 0xBF58476D1CE4E5B9U;
    left = std::exchange(right, left ^ ((hash >> 32) & mask));
  }
  return left << half | right;
}

}  // namespace

std::int64_t shuffled(std::uint64_t seed, std::int64_t index, std::int64_t count) {
  Random random = random_for(RandomUse::kEpochs, seed, index / count, 8);
  std::array<std::uint32_t, 6> keys = {};
  for (std::uint32_t& key : keys) key = random.next_u32();
  int half = 1;
  while (half < 31 && std::int64_t{1} << 2 * half < count) ++half;
  auto value = static_cast<std::uint64_t>(index % count);
  do value = mixed(value, half, keys);  // mixes again until the result is a valid example
  while (value >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(value);
}

std::size_t row_of(const TrainConfig& config, std::int64_t index, std::int64_t count) {
  const auto seed = static_cast<std::uint64_t>(config.seed);
  if (config.epochs > 0) return static_cast<std::size_t>(shuffled(seed, index, count));
  return random_for(RandomUse::kRows, seed, index).below(static_cast<std::uint64_t>(count));
}

std::int64_t even_crop(std::int64_t index, std::int64_t count, std::int64_t token_count,
                       std::int64_t block) {
  const std::int64_t last = token_count - block - 1;
  return count == 1 ? 0 : index * last / (count - 1);
}

std::int64_t drawn_period(Random& random, std::int64_t length, std::int64_t part) {
  const std::int64_t least = std::max<std::int64_t>(1, length / part);
  const std::int64_t most = std::max<std::int64_t>(least, length / 2);
  return least +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

std::optional<std::int64_t> repeat_period(std::uint64_t seed, std::int64_t index, double share,
                                          std::int64_t block) {
  Random random = random_for(RandomUse::kRepeats, seed, index);
  constexpr std::uint64_t kParts = 1'000'000;
  if (static_cast<double>(random.below(kParts)) >= share * kParts) return std::nullopt;
  return drawn_period(random, block, 8);
}

std::uint64_t dropout_seed(std::uint64_t seed, std::int64_t index) {
  Random random = random_for(RandomUse::kDropout, seed, index);
  const std::uint64_t high = random.next_u32();
  return (high << 32) | random.next_u32();
}

}  // namespace heed
