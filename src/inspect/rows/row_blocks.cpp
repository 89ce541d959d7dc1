#include "inspect/rows/row_blocks.h"

#include <algorithm>
#include <limits>

namespace heed {
namespace {

struct BlockState final : Observer::State {
  std::vector<float> weights;  // [rows, Tk]
  std::vector<float> scores;
};

}  // namespace

RowBlocks::RowBlocks(Wanted wanted, std::function<void(const RowView&)> use)
    : wanted_(std::move(wanted)), use_(std::move(use)) {}

void RowBlocks::begin(const ObservedShape& shape) { key_length_ = shape.key_length; }

bool RowBlocks::wants(std::int64_t row) const {
  return wanted_.rows.empty() || std::ranges::binary_search(wanted_.rows, row);
}

bool RowBlocks::needs(const ObservedRows& rows) const {
  if (wanted_.head && *wanted_.head != rows.head) return false;
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row)
    if (wants(row)) return true;
  return false;
}

std::unique_ptr<Observer::State> RowBlocks::rows(const ObservedRows& rows) const {
  auto block = std::make_unique<BlockState>();
  const auto count = static_cast<std::size_t>((rows.row_end - rows.row_begin) * key_length_);
  block->weights.assign(count, kHidden);
  block->scores.assign(count, -std::numeric_limits<float>::infinity());
  return block;
}

void RowBlocks::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& block = static_cast<BlockState&>(state);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    const std::int64_t lane = row - rows.row_begin;
    for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
      const std::int64_t from = (key - tile.key_begin) * kMaskRows + lane;
      if ((tile.visible[key - tile.key_begin] >> lane & 1U) == 0) continue;
      const auto to = static_cast<std::size_t>(lane * key_length_ + key);
      block.weights[to] = tile.weights[from];
      block.scores[to] = tile.scores[from];
    }
  }
}

void RowBlocks::merge(State& state, const ObservedRows& rows) {
  const auto& block = static_cast<BlockState&>(state);
  const auto length = static_cast<std::size_t>(key_length_);
  for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
    if (!wants(row)) continue;
    const std::size_t begin = static_cast<std::size_t>(row - rows.row_begin) * length;
    use_({rows.head, row, std::span(block.weights).subspan(begin, length),
          std::span(block.scores).subspan(begin, length)});
  }
}

}  // namespace heed
