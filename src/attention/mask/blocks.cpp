#include <fmt/format.h>

#include <algorithm>

#include "attention/mask/bit_words.h"
#include "attention/mask/tensors.h"
#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

class BlocksRule : public MaskRule {
 public:
  BlocksRule(const ConstView& layout, const BlockSize& size)
      : layout_(table(layout, {.mask = "blocks",
                               .argument = "layout",
                               .legend = "[B, H, blocks of queries, blocks of keys]"})),
        size_(size) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return layout_->visible(place, row / size_.rows, key / size_.keys);
  }

  // The common class of the layout entries that the tile touches.
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return layout_->tile(place, {tile.row_begin / size_.rows, (tile.row_end - 1) / size_.rows + 1,
                                 tile.key_begin / size_.keys, (tile.key_end - 1) / size_.keys + 1});
  }

  // Processes one block of the layout at a time.
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    std::fill_n(by_key, tile.key_end - tile.key_begin, std::uint64_t{0});
    for (std::int64_t row = tile.row_begin; row < tile.row_end;) {
      const std::int64_t row_end = std::min((row / size_.rows + 1) * size_.rows, tile.row_end);
      const std::uint64_t rows = bit_range(row - tile.row_begin, row_end - tile.row_begin);
      for (std::int64_t key = tile.key_begin; key < tile.key_end;) {
        const std::int64_t key_end = std::min((key / size_.keys + 1) * size_.keys, tile.key_end);
        if (visible(place, row, key))
          for (std::int64_t j = key; j < key_end; ++j) by_key[j - tile.key_begin] |= rows;
        key = key_end;
      }
      row = row_end;
    }
  }

  void check(const MaskTarget& target) const override {
    layout_->check({target.batch, target.heads, (target.query_length + size_.rows - 1) / size_.rows,
                    (target.key_length + size_.keys - 1) / size_.keys});
  }

  std::string describe() const override {
    return fmt::format("{} of {} x {}", layout_->describe(), size_.rows, size_.keys);
  }

 private:
  std::shared_ptr<const MaskRule> layout_;
  BlockSize size_;
};

}  // namespace

Mask Mask::blocks(const ConstView& layout, const BlockSize& size) {
  if (size.rows < 1 || size.keys < 1)
    fail("blocks", "size", fmt::format("{} x {}", size.rows, size.keys), "at least 1 x 1");
  return Mask(std::make_shared<BlocksRule>(layout, size));
}

}  // namespace heed
