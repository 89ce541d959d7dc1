#include "heed/masks/blocks.h"

#include <fmt/format.h>

#include "heed/base/error.h"
#include "masks/table.h"

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

  // The layout's own class of the entries that the tile touches.
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return layout_->tile(place, {tile.row_begin / size_.rows, (tile.row_end - 1) / size_.rows + 1,
                                 tile.key_begin / size_.keys, (tile.key_end - 1) / size_.keys + 1});
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

Mask blocks(const ConstView& layout, const BlockSize& size) {
  if (size.rows < 1 || size.keys < 1)
    fail("blocks", "size", fmt::format("{} x {}", size.rows, size.keys), "at least 1 x 1");
  return Mask(std::make_shared<BlocksRule>(layout, size));
}

}  // namespace heed
