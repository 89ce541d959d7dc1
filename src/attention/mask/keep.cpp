#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attention/mask/bit_words.h"
#include "attention/mask/tensors.h"
#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

class TableRule : public MaskRule {
 public:
  TableRule(const ConstView& keep, const TableNames& names)
      : keep_(keep), strides_{0, 0, 0, 0}, names_(names) {
    const int missing = 4 - keep.rank();
    for (int axis = missing; axis < 4; ++axis)
      if (keep.dim(axis - missing) != 1) strides_[axis] = keep.stride(axis - missing);
  }

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return at(place, row)[key * strides_[3]] != 0;
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    bool any_kept = false;
    bool any_hidden = false;
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      for (std::int64_t key = tile.key_begin; key < tile.key_end; key += kMaskRows) {
        const std::int64_t count = std::min(kMaskRows, tile.key_end - key);
        const std::uint64_t kept = line(place, row, key, count);
        any_kept = any_kept || kept != 0;
        any_hidden = any_hidden || kept != bit_range(0, count);
      }
      if (any_kept && any_hidden) return TileClass::kPartial;
      if (strides_[2] == 0) break;  // the same line for all rows
    }
    return any_kept ? TileClass::kFull : TileClass::kEmpty;
  }

  // Reads lines of 64 keys, and transposes 64 x 64 bits at a time to columns. Prefetches the keys
  // after them, which a sweep asks for next.
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    for (std::int64_t key = tile.key_begin; key < tile.key_end; key += kMaskRows) {
      const std::int64_t count = std::min(kMaskRows, tile.key_end - key);
      std::array<std::uint64_t, 64> words = {};
      for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row) {
        if (strides_[3] == 1) __builtin_prefetch(at(place, row) + key + kMaskRows);
        words[static_cast<std::size_t>(row - tile.row_begin)] =
            strides_[2] == 0 && row > tile.row_begin ? words[0] : line(place, row, key, count);
      }
      transpose_bits(words);
      std::copy_n(words.data(), count, by_key + (key - tile.key_begin));
    }
  }

  void check(const MaskTarget& target) const override {
    const Shape wanted = {target.batch, target.heads, target.query_length, target.key_length};
    const int missing = 4 - keep_.rank();
    for (int axis = missing; axis < 4; ++axis) {
      const std::int64_t found = keep_.dim(axis - missing);
      if (found != 1 && found != wanted[axis])
        fail(names_.mask, fmt::format("{}.shape", names_.argument), to_string(keep_.shape()),
             fmt::format("one that broadcasts to {} = {}", names_.legend, to_string(wanted)));
    }
  }

  std::string describe() const override {
    return fmt::format("{}{}", names_.mask, to_string(keep_.shape()));
  }

 private:
  // Bit j says whether the row sees key + j.
  std::uint64_t line(const MaskPlace& place, std::int64_t row, std::int64_t key,
                     std::int64_t count) const {
    const std::uint8_t* flags = at(place, row) + key * strides_[3];
    if (strides_[3] == 1) return word_of(flags, count);
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < count; ++i)
      word |= static_cast<std::uint64_t>(flags[i * strides_[3]] != 0) << i;
    return word;
  }

  const std::uint8_t* at(const MaskPlace& place, std::int64_t row) const {
    return static_cast<const std::uint8_t*>(keep_.raw()) + place.batch * strides_[0] +
           place.head * strides_[1] + row * strides_[2];
  }

  ConstView keep_;
  Shape strides_;  // all four dimensions
  TableNames names_;
};

}  // namespace

std::shared_ptr<const MaskRule> table(const ConstView& view, const TableNames& names) {
  if (!view.given()) fail(names.mask, names.argument, {}, "a tensor of bool or u8");
  if (view.dtype() != DType::kBool && view.dtype() != DType::kU8)
    fail({.op = names.mask,
          .argument = names.argument,
          .found = name(view.dtype()),
          .expected = "bool or u8",
          .hint = "additive values are a bias"});
  if (view.rank() > 4)
    fail(names.mask, fmt::format("{}.shape", names.argument), to_string(view.shape()),
         fmt::format("at most {}", names.legend));
  if (view.raw() == nullptr && view.element_count() != 0)
    fail(names.mask, fmt::format("{}.data", names.argument), "null", {});
  return std::make_shared<TableRule>(view, names);
}

Mask Mask::keep(const ConstView& visible) {
  return Mask(table(visible, {.mask = "keep", .argument = "keep", .legend = "[B, H, Tq, Tk]"}));
}

}  // namespace heed
