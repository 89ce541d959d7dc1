#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "attention/mask/bit_words.h"
#include "attention/mask/tensors.h"
#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

// Ids [T] or [B, T].
struct Ids {
  Ids(std::string_view what, const ConstView& view) : values(integers("segments", what, view)) {
    if (view.rank() != 1 && view.rank() != 2)
      fail("segments", fmt::format("{}.shape", what), to_string(view.shape()), "[T] or [B, T]");
    length = view.dim(-1);
    batches = view.rank() == 1 ? 1 : view.dim(0);
  }

  std::vector<std::int64_t> values;
  std::int64_t length = 0;
  std::int64_t batches = 1;

  const std::int64_t* of(std::int64_t batch) const {
    return values.data() + (batches == 1 ? 0 : batch * length);
  }

  // The smallest and the largest of [begin, end).
  std::ranges::minmax_result<std::int64_t> range(std::int64_t batch, std::int64_t begin,
                                                 std::int64_t end) const {
    return std::ranges::minmax(std::span(of(batch) + begin, static_cast<std::size_t>(end - begin)));
  }

  void check(std::string_view what, std::int64_t batch, std::int64_t wanted) const {
    if (length != wanted || (batches != 1 && batches != batch))
      fail("segments", fmt::format("{}.shape", what), fmt::format("[{}, {}]", batches, length),
           fmt::format("[{}, {}], or one row for all", batch, wanted));
  }
};

class SegmentsRule : public MaskRule {
 public:
  SegmentsRule(Ids queries, Ids keys) : queries_(std::move(queries)), keys_(std::move(keys)) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return queries_.of(place.batch)[row] == keys_.of(place.batch)[key];
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    const auto rows = queries_.range(place.batch, tile.row_begin, tile.row_end);
    const auto columns = keys_.range(place.batch, tile.key_begin, tile.key_end);
    if (rows.max < columns.min || columns.max < rows.min) return TileClass::kEmpty;
    const bool same = rows.min == rows.max && columns.min == columns.max;
    return same ? TileClass::kFull : TileClass::kPartial;
  }

  // Rows of one segment are usually adjacent, so this processes a run of them at a time.
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    const std::int64_t* const of_rows = queries_.of(place.batch);
    const std::int64_t* const of_keys = keys_.of(place.batch);
    std::fill_n(by_key, tile.key_end - tile.key_begin, std::uint64_t{0});
    for (std::int64_t row = tile.row_begin; row < tile.row_end;) {
      const std::int64_t id = of_rows[row];
      const std::int64_t begin = row - tile.row_begin;
      while (row < tile.row_end && of_rows[row] == id) ++row;
      const std::uint64_t rows = bit_range(begin, row - tile.row_begin);
      for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key)
        by_key[key - tile.key_begin] |= of_keys[key] == id ? rows : 0;
    }
  }

  void check(const MaskTarget& target) const override {
    queries_.check("query_ids", target.batch, target.query_length);
    keys_.check("key_ids", target.batch, target.key_length);
  }

  std::string describe() const override { return "segments"; }

 private:
  Ids queries_;
  Ids keys_;
};

}  // namespace

Mask Mask::segments(const ConstView& query_ids, const ConstView& key_ids) {
  Ids queries("query_ids", query_ids);
  Ids keys("key_ids", key_ids);
  return Mask(std::make_shared<SegmentsRule>(std::move(queries), std::move(keys)));
}

Mask Mask::segments(const ConstView& ids) { return segments(ids, ids); }

}  // namespace heed
