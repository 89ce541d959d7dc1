#include <memory>
#include <utility>

#include "ranks/ring.h"

namespace heed {
namespace {

// The rule of the whole text, for rows and keys that begin later in it.
class PartRule : public MaskRule {
 public:
  PartRule(Mask whole, const MaskTarget& target, const RingPart& rows, const RingPart& keys)
      : whole_(std::move(whole)), target_(target), row_(rows.begin), key_(keys.begin) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return rule().visible(in_text(place), row + row_, key + key_);
  }
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return rule().tile(in_text(place), in_text(tile));
  }
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    rule().bits(in_text(place), in_text(tile), by_key);
  }
  void check(const MaskTarget&) const override { rule().check(target_); }
  std::string describe() const override { return rule().describe(); }

 private:
  const MaskRule& rule() const { return *whole_.rule(); }
  static MaskPlace in_text(const MaskPlace& place) {
    return {.batch = place.batch, .head = place.head, .q_offset = 0, .key_offset = 0};
  }
  MaskTile in_text(const MaskTile& tile) const {
    return {.row_begin = tile.row_begin + row_,
            .row_end = tile.row_end + row_,
            .key_begin = tile.key_begin + key_,
            .key_end = tile.key_end + key_};
  }

  Mask whole_;
  MaskTarget target_;
  std::int64_t row_;
  std::int64_t key_;
};

ConstView along(const ConstView& bias, int axis, const RingPart& part) {
  return bias.rank() < -axis || bias.dim(axis) == 1
             ? bias
             : bias.slice(bias.rank() + axis, part.begin, part.end);
}

}  // namespace

Mask part_of_mask(const Mask& whole, const MaskTarget& target, const RingPart& rows,
                  const RingPart& keys) {
  return whole.rule() == nullptr ? whole
                                 : Mask(std::make_shared<PartRule>(whole, target, rows, keys));
}

ConstView part_of_bias(const ConstView& bias, const RingPart& rows, const RingPart& keys) {
  return bias.given() ? along(along(bias, -2, rows), -1, keys) : bias;
}

}  // namespace heed
