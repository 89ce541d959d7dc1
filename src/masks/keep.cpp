#include "heed/masks/keep.h"

#include <fmt/format.h>

#include "heed/base/error.h"
#include "masks/table.h"

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
      const std::uint8_t* line = at(place, row);
      for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key)
        (line[key * strides_[3]] != 0 ? any_kept : any_hidden) = true;
      if (any_kept && any_hidden) return TileClass::kPartial;
      if (strides_[2] == 0) break;  // one line for all rows
    }
    return any_kept ? TileClass::kFull : TileClass::kEmpty;
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
  const std::uint8_t* at(const MaskPlace& place, std::int64_t row) const {
    return static_cast<const std::uint8_t*>(keep_.raw()) + place.batch * strides_[0] +
           place.head * strides_[1] + row * strides_[2];
  }

  ConstView keep_;
  Shape strides_;  // of four dimensions
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

Mask keep(const ConstView& keep) {
  return Mask(table(keep, {.mask = "keep", .argument = "keep", .legend = "[B, H, Tq, Tk]"}));
}

}  // namespace heed
