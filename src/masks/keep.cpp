#include "heed/masks/keep.h"

#include <fmt/format.h>

#include "heed/base/error.h"
#include "masks/table.h"

namespace heed {
namespace {

class TableRule : public MaskRule {
 public:
  TableRule(const ConstView& keep, std::string_view mask, std::string_view legend)
      : keep_(keep), strides_{0, 0, 0, 0}, mask_(mask), legend_(legend) {
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
      require(found == 1 || found == wanted[axis], "{}: shape {} cannot be broadcast to {} {}",
              mask_, to_string(keep_.shape()), to_string(wanted), legend_);
    }
  }

  std::string describe() const override {
    return fmt::format("{}{}", mask_, to_string(keep_.shape()));
  }

 private:
  const std::uint8_t* at(const MaskPlace& place, std::int64_t row) const {
    return static_cast<const std::uint8_t*>(keep_.raw()) + place.batch * strides_[0] +
           place.head * strides_[1] + row * strides_[2];
  }

  ConstView keep_;
  Shape strides_;  // of four dimensions
  std::string_view mask_;
  std::string_view legend_;
};

}  // namespace

std::shared_ptr<const MaskRule> table(const ConstView& view, std::string_view mask,
                                      std::string_view legend) {
  require(view.given(), "{}: no tensor is given", mask);
  require(view.dtype() == DType::kBool || view.dtype() == DType::kU8,
          "{}: elements are {}: bool or u8 is expected (additive values are a bias)", mask,
          name(view.dtype()));
  require(view.rank() <= 4, "{}: shape is {}: at most {} is expected", mask,
          to_string(view.shape()), legend);
  require(view.raw() != nullptr || view.element_count() == 0, "{}: the tensor has no memory", mask);
  return std::make_shared<TableRule>(view, mask, legend);
}

Mask keep(const ConstView& keep) { return Mask(table(keep, "keep", "[B, H, Tq, Tk]")); }

}  // namespace heed
