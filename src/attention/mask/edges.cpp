#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "attention/mask/tensors.h"
#include "heed/error.h"
#include "heed/mask.h"

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
    if (rows != target.query_length)
      fail("edges", "row_starts", fmt::format("a list of {}", rows + 1),
           fmt::format("{} entries (the queries and one)", target.query_length + 1));
    if (last_ >= target.key_length)
      fail("edges", "columns", fmt::format("up to {}", last_),
           fmt::format("0 to {} (the last key)", target.key_length - 1));
  }

  std::string describe() const override { return fmt::format("edges({})", columns_.size()); }

 private:
  // The keys in [key_begin, key_end) that a row sees.
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
  if (starts.empty() || starts.front() != 0)
    fail("edges", "row_starts[0]", starts.empty() ? Phrase() : Phrase(starts.front()), "0");
  for (std::size_t row = 0; row + 1 < starts.size(); ++row)
    if (starts[row] > starts[row + 1])
      fail("edges", fmt::format("row_starts[{}]", row + 1), starts[row + 1],
           fmt::format("at least {}, the entry before", starts[row]));
  if (starts.back() != static_cast<std::int64_t>(columns))
    fail("edges", fmt::format("row_starts[{}]", starts.size() - 1), starts.back(),
         fmt::format("{}, the number of columns", columns));
}

void check_columns(const std::vector<std::int64_t>& starts,
                   const std::vector<std::int64_t>& columns) {
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    std::int64_t before = -1;
    for (auto at = static_cast<std::size_t>(starts[row]);
         at < static_cast<std::size_t>(starts[row + 1]); before = columns[at++])
      if (columns[at] <= before)
        fail("edges", fmt::format("columns[{}]", at), columns[at],
             fmt::format("above {} (row {} rises from 0)", before, row));
  }
}

}  // namespace

Mask Mask::edges(const ConstView& row_starts, const ConstView& columns) {
  if (row_starts.rank() != 1 || columns.rank() != 1)
    fail("edges", row_starts.rank() != 1 ? "row_starts.shape" : "columns.shape",
         to_string(row_starts.rank() != 1 ? row_starts.shape() : columns.shape()), "[entries]");
  std::vector<std::int64_t> starts = integers("edges", "row_starts", row_starts);
  std::vector<std::int64_t> keys = integers("edges", "columns", columns);
  check_starts(starts, keys.size());
  check_columns(starts, keys);
  return Mask(std::make_shared<EdgesRule>(std::move(starts), std::move(keys)));
}

}  // namespace heed
