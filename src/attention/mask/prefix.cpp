#include <fmt/format.h>

#include <algorithm>

#include "attention/mask/bit_words.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/mask.h"

namespace heed {
namespace {

class PrefixRule : public MaskRule {
 public:
  explicit PrefixRule(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}

  bool visible(const MaskPlace& place, std::int64_t, std::int64_t key) const override {
    return key < end(place);
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    if (tile.key_end <= end(place)) return TileClass::kFull;
    return tile.key_begin >= end(place) ? TileClass::kEmpty : TileClass::kPartial;
  }

  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    const std::int64_t keys = tile.key_end - tile.key_begin;
    const std::int64_t seen = std::clamp<std::int64_t>(end(place) - tile.key_begin, 0, keys);
    std::fill_n(by_key, seen, bit_range(0, tile.row_end - tile.row_begin));
    std::fill_n(by_key + seen, keys - seen, std::uint64_t{0});
  }

  void check(const MaskTarget& target) const override {
    if (lengths_.size() != 1 && static_cast<std::int64_t>(lengths_.size()) != target.batch)
      fail("prefix", "lengths", fmt::format("a list of {}", lengths_.size()),
           fmt::format("one entry, or {} (one per batch)", target.batch));
  }

  std::string describe() const override {
    return fmt::format("prefix({})", joined(lengths_, ", "));
  }

 private:
  // The first key, by logical index, after the prefix.
  std::int64_t end(const MaskPlace& place) const {
    const auto b = lengths_.size() == 1 ? 0 : static_cast<std::size_t>(place.batch);
    return lengths_[b] - place.key_offset;
  }

  std::vector<std::int64_t> lengths_;
};

}  // namespace

Mask Mask::prefix(std::vector<std::int64_t> lengths) {
  if (lengths.empty()) fail("prefix", "lengths", {}, "one entry, or one per batch");
  constexpr std::int64_t kLongest = std::int64_t{1} << 60;  // like positions, so that sums fit
  for (const std::int64_t length : lengths)
    if (length < 0 || length > kLongest) fail("prefix", "lengths", length, "0 to 2^60 keys");
  return Mask(std::make_shared<PrefixRule>(std::move(lengths)));
}

}  // namespace heed
