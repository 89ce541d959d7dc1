// Scores that measure how much of a row goes to a set of keys determined by its token: the mean,
// over the rows that see such a key, of the sum of their weights on those keys.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "inspect/heads/row_scores.h"

namespace heed {
namespace {

// Lists of ascending keys, concatenated: a text has nearly as many lists as tokens.
struct KeyLists {
  std::vector<std::int32_t> keys;
  std::vector<std::int32_t> ends;  // end of each list

  std::span<const std::int32_t> list(std::int32_t index) const {
    const auto at = static_cast<std::size_t>(index);
    return std::span(keys).subspan(begin(at), static_cast<std::size_t>(ends[at]) - begin(at));
  }

 private:
  std::size_t begin(std::size_t at) const {
    return at == 0 ? 0 : static_cast<std::size_t>(ends[at - 1]);
  }
};

// The keys that count for a row: those of its list, except the row itself.
struct KeySets {
  KeyLists lists;
  std::vector<std::int32_t> list_of;  // by row
  bool with_next = true;              // whether the key after the row counts
};

struct KeySetRows final : RowBlock {
  struct Row {
    double all = 0, past_first = 0;
    bool sees = false, sees_past_first = false;
    std::size_t next = 0;  // in the row's list, since tiles come in key order
  };
  std::array<Row, kMaskRows> rows = {};
};

class KeySetScore final : public BlockScores<KeySetRows> {
 public:
  explicit KeySetScore(KeySets sets) : BlockScores(1), sets_(std::move(sets)) {}
  std::string_view name() const override { return "key_sets"; }
  std::optional<bool> counts(int, std::int64_t row, std::int64_t key) const override {
    return is_counted(row, key) && std::ranges::binary_search(list(row), key);
  }

 private:
  void read(KeySetRows& block, const ObservedRows& rows, const ObservedTile& tile) const override {
    for (std::int64_t row = rows.row_begin; row < rows.row_end; ++row) {
      const std::int64_t lane = row - rows.row_begin;
      read_row(block.rows[static_cast<std::size_t>(lane)], row, lane, tile);
    }
  }
  void read_row(KeySetRows::Row& sum, std::int64_t row, std::int64_t lane,
                const ObservedTile& tile) const;
  void add_row(const KeySetRows& block, const ObservedRows& rows, std::int64_t, std::size_t lane,
               double sink) override {
    const KeySetRows::Row& sum = block.rows[lane];
    add(rows, 0, {sum.all, sum.sees, sum.past_first, sum.sees_past_first}, sink);
  }
  std::span<const std::int32_t> list(std::int64_t row) const {
    return sets_.lists.list(sets_.list_of[static_cast<std::size_t>(row)]);
  }
  bool is_counted(std::int64_t row, std::int64_t key) const {
    return key != row && (sets_.with_next || key != row + 1);
  }

  KeySets sets_;
};

void KeySetScore::read_row(KeySetRows::Row& sum, std::int64_t row, std::int64_t lane,
                           const ObservedTile& tile) const {
  const std::span<const std::int32_t> list = this->list(row);
  while (sum.next < list.size() && list[sum.next] < tile.key_begin) ++sum.next;
  for (; sum.next < list.size() && list[sum.next] < tile.key_end; ++sum.next) {
    const std::int64_t key = list[sum.next];
    const std::int64_t at = key - tile.key_begin;
    if ((tile.visible[at] >> lane & 1) == 0 || !is_counted(row, key)) continue;
    const auto weight = static_cast<double>(tile.weights[at * kMaskRows + lane]);
    sum.all += weight;
    sum.sees = true;
    if (key == 0) continue;
    sum.past_first += weight;
    sum.sees_past_first = true;
  }
}

ScoreObserverPointer key_set_score(KeySets sets) {
  return std::make_unique<KeySetScore>(std::move(sets));
}

// For each kind of token, the places that are `behind` positions after one; 0: its own places.
KeyLists places_of(const std::vector<std::int32_t>& kinds, std::int32_t behind = 0) {
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

}  // namespace

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
