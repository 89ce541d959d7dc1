#include "heed/masks/keep.h"

#include <fmt/format.h>

#include "heed/base/error.h"

namespace heed {
namespace {

class KeepRule : public MaskRule {
 public:
  explicit KeepRule(const ConstView& keep) : keep_(keep), strides_{0, 0, 0, 0} {
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
      require(found == 1 || found == wanted[axis],
              "keep: shape {} cannot be broadcast to {} [B, H, Tq, Tk]", to_string(keep_.shape()),
              to_string(wanted));
    }
  }

  std::string describe() const override { return fmt::format("keep{}", to_string(keep_.shape())); }

 private:
  const std::uint8_t* at(const MaskPlace& place, std::int64_t row) const {
    return static_cast<const std::uint8_t*>(keep_.raw()) + place.batch * strides_[0] +
           place.head * strides_[1] + row * strides_[2];
  }

  ConstView keep_;
  Shape strides_;  // of [B, H, Tq, Tk]
};

}  // namespace

Mask keep(const ConstView& keep) {
  require(keep.given(), "keep: no tensor is given");
  require(keep.dtype() == DType::kBool || keep.dtype() == DType::kU8,
          "keep: elements are {}: bool or u8 is expected (additive values are a bias)",
          name(keep.dtype()));
  require(keep.rank() <= 4, "keep: shape is {}: at most [B, H, Tq, Tk] is expected",
          to_string(keep.shape()));
  return Mask(std::make_shared<KeepRule>(keep));
}

}  // namespace heed
