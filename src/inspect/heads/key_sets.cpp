#include "inspect/heads/key_sets.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heed {
namespace {

class KeySetScore final : public RowScores {
 public:
  explicit KeySetScore(KeySets sets) : RowScores(1), sets_(std::move(sets)) {}
  std::string_view name() const override { return "key_sets"; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<Block>();
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    auto& block = static_cast<Block&>(state);
    block.sink.see(tile);
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row)
      block.add_row(*this, row, row - rows.row_begin, tile);
  }
  void merge(State& state, const ObservedRows& rows) override {
    const auto& block = static_cast<const Block&>(state);
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      const Row& sum = block.rows[lane];
      add(rows, 0, {sum.all, sum.sees, sum.past_first, sum.sees_past_first},
          static_cast<double>(block.sink.weight[lane]));
    }
  }
  std::optional<bool> counts(int, std::int64_t row, std::int64_t key) const override {
    return is_counted(row, key) && std::ranges::binary_search(list(row), key);
  }

 private:
  struct Row {
    double all = 0, past_first = 0;
    bool sees = false, sees_past_first = false;
    std::size_t next = 0;  // in the row's list, since tiles come in key order
  };
  struct Block final : State {
    void add_row(const KeySetScore& score, std::int64_t row, std::int64_t lane,
                 const ObservedTile& tile);
    std::array<Row, kMaskRows> rows = {};
    SinkOfRows sink;
  };

  std::span<const std::int32_t> list(std::int64_t row) const {
    return sets_.lists.list(sets_.list_of[static_cast<std::size_t>(row)]);
  }
  bool is_counted(std::int64_t row, std::int64_t key) const {
    return key != row && (sets_.with_next || key != row + 1);
  }

  KeySets sets_;
};

void KeySetScore::Block::add_row(const KeySetScore& score, std::int64_t row, std::int64_t lane,
                                 const ObservedTile& tile) {
  const std::span<const std::int32_t> list = score.list(row);
  Row& sum = rows[static_cast<std::size_t>(lane)];
  while (sum.next < list.size() && list[sum.next] < tile.key_begin) ++sum.next;
  for (; sum.next < list.size() && list[sum.next] < tile.key_end; ++sum.next) {
    const std::int64_t key = list[sum.next];
    const std::int64_t at = key - tile.key_begin;
    if ((tile.visible[at] >> lane & 1) == 0 || !score.is_counted(row, key)) continue;
    const auto weight = static_cast<double>(tile.weights[at * kMaskRows + lane]);
    sum.all += weight;
    sum.sees = true;
    if (key == 0) continue;
    sum.past_first += weight;
    sum.sees_past_first = true;
  }
}

}  // namespace

ScoreObserverPointer key_set_score(KeySets sets) {
  return std::make_unique<KeySetScore>(std::move(sets));
}

KeyLists places_of(const std::vector<std::int32_t>& kinds, std::int32_t behind) {
  KeyLists places;
  const auto count =
      static_cast<std::size_t>(kinds.empty() ? 0 : *std::ranges::max_element(kinds) + 1);
  const std::size_t length =
      kinds.size() - std::min(kinds.size(), static_cast<std::size_t>(behind));
  std::vector<std::int32_t> next(count + 1);  // where the next one of a kind goes
  for (std::size_t at = 0; at < length; ++at) ++next[static_cast<std::size_t>(kinds[at]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  places.ends.assign(next.begin() + 1, next.end());
  places.keys.resize(length);
  for (std::size_t at = 0; at < length; ++at) {
    std::int32_t& to = next[static_cast<std::size_t>(kinds[at])];
    places.keys[static_cast<std::size_t>(to++)] = static_cast<std::int32_t>(at) + behind;
  }
  return places;
}

// How much of a row goes to tokens that followed its token elsewhere: an induction head's share
// (Olsson et al. 2022), here on the text itself. The token after the row does not count as
// evidence.
ScoreObserverPointer induction_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score(
      {.lists = places_of(layer.kinds, /*behind=*/1), .list_of = layer.kinds, .with_next = false});
}

// How much of a row goes to other occurrences of its token: a duplicate-token head's share.
ScoreObserverPointer duplicate_score(const ScoredLayer& layer) {
  if (layer.kinds.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.kinds), .list_of = layer.kinds});
}

// How much of a row goes to the other pieces of its own word.
ScoreObserverPointer same_word_score(const ScoredLayer& layer) {
  if (layer.words.empty()) return nullptr;
  return key_set_score({.lists = places_of(layer.words), .list_of = layer.words});
}

// How much of a row goes to special tokens past the first, to punctuation and to line ends (Clark
// et al. 2019).
ScoreObserverPointer delimiter_score(const ScoredLayer& layer) {
  if (layer.rows == 0) return nullptr;
  return key_set_score({.lists = {.keys = layer.delimiters,
                                  .ends = {static_cast<std::int32_t>(layer.delimiters.size())}},
                        .list_of = std::vector<std::int32_t>(layer.rows, 0)});
}

}  // namespace heed
