#include "heed/masks/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "heed/base/error.h"
#include "masks/integers.h"

namespace heed {
namespace {

class EdgesRule : public MaskRule {
 public:
  EdgesRule(std::vector<std::int64_t> starts, std::vector<std::int64_t> columns)
      : starts_(std::move(starts)), columns_(std::move(columns)) {
    for (const std::int64_t key : columns_) last_ = std::max(last_, key);
  }

  bool visible(const MaskPlace&, std::int64_t row, std::int64_t key) const override {
    return !between(row, key, key + 1).empty();
  }

  TileClass tile(const MaskPlace&, const MaskTile& tile) const override {
    bool any = false;
    bool all = true;
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      const auto seen = std::ssize(between(row, tile.key_begin, tile.key_end));
      any = any || seen > 0;
      all = all && seen == tile.key_end - tile.key_begin;
      if (any && !all) return TileClass::kPartial;
    }
    return all ? TileClass::kFull : TileClass::kEmpty;
  }

  void bits(const MaskPlace&, const MaskTile& tile, std::uint64_t* by_key) const override {
    std::fill_n(by_key, tile.key_end - tile.key_begin, std::uint64_t{0});
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row)
      for (const std::int64_t key : between(row, tile.key_begin, tile.key_end))
        by_key[key - tile.key_begin] |= std::uint64_t{1} << (row - tile.row_begin);
  }

  void check(const MaskTarget& target) const override {
    const std::int64_t rows = std::ssize(starts_) - 1;
    require(rows == target.query_length,
            "edges: row_starts has {} entries but there are {} queries: {} are expected", rows + 1,
            target.query_length, target.query_length + 1);
    require(last_ < target.key_length,
            "edges: a column is {} but there are {} keys: 0 to {} is expected", last_,
            target.key_length, target.key_length - 1);
  }

  std::string describe() const override { return fmt::format("edges({})", columns_.size()); }

 private:
  // The keys of [key_begin, key_end) that a row sees.
  std::span<const std::int64_t> between(std::int64_t row, std::int64_t key_begin,
                                        std::int64_t key_end) const {
    const std::int64_t* first = columns_.data() + starts_[static_cast<std::size_t>(row)];
    const std::int64_t* last = columns_.data() + starts_[static_cast<std::size_t>(row + 1)];
    const std::int64_t* begin = std::lower_bound(first, last, key_begin);
    return {begin, std::lower_bound(begin, last, key_end)};
  }

  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> columns_;
  std::int64_t last_ = -1;  // the largest column
};

void check_starts(const std::vector<std::int64_t>& starts, std::size_t columns) {
  require(!starts.empty() && starts.front() == 0, "edges: row_starts begins with {}: 0 is expected",
          starts.empty() ? "nothing" : fmt::format("{}", starts.front()));
  for (std::size_t row = 0; row + 1 < starts.size(); ++row)
    require(starts[row] <= starts[row + 1],
            "edges: row_starts falls from {} to {} after row {}: rising offsets are expected",
            starts[row], starts[row + 1], row);
  require(starts.back() == static_cast<std::int64_t>(columns),
          "edges: row_starts ends with {} but there are {} columns: as many are expected",
          starts.back(), columns);
}

void check_columns(const std::vector<std::int64_t>& starts,
                   const std::vector<std::int64_t>& columns) {
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    std::int64_t before = -1;
    for (auto at = static_cast<std::size_t>(starts[row]);
         at < static_cast<std::size_t>(starts[row + 1]); before = columns[at++])
      require(columns[at] > before,
              "edges: row {} has column {} after {}: strictly rising columns from 0 are expected",
              row, columns[at], before);
  }
}

}  // namespace

Mask edges(const ConstView& row_starts, const ConstView& columns) {
  require(row_starts.rank() == 1 && columns.rank() == 1,
          "edges: row_starts is {} and columns is {}: two lists are expected",
          to_string(row_starts.shape()), to_string(columns.shape()));
  std::vector<std::int64_t> starts = integers("edges", "row_starts", row_starts);
  std::vector<std::int64_t> keys = integers("edges", "columns", columns);
  check_starts(starts, keys.size());
  check_columns(starts, keys);
  return Mask(std::make_shared<EdgesRule>(std::move(starts), std::move(keys)));
}

}  // namespace heed
