#include "heed/mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "attention/mask/tensors.h"
#include "heed/error.h"
#include "heed/tensor.h"

namespace heed {

void MaskRule::bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const {
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    std::uint64_t word = 0;
    for (std::int64_t row = tile.row_begin; row < tile.row_end; ++row)
      word |= static_cast<std::uint64_t>(visible(place, row, key)) << (row - tile.row_begin);
    by_key[key - tile.key_begin] = word;
  }
}

namespace {

enum class Join : std::uint8_t { kAnd, kOr };

// Two rules combined by & or |. One class decides alone: empty for &, full for |.
class Joined : public MaskRule {
 public:
  Joined(Join join, std::shared_ptr<const MaskRule> a, std::shared_ptr<const MaskRule> b)
      : join_(join), a_(std::move(a)), b_(std::move(b)) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    const bool first = a_->visible(place, row, key);
    if (first == (join_ == Join::kOr)) return first;
    return b_->visible(place, row, key);
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    const TileClass decides = join_ == Join::kAnd ? TileClass::kEmpty : TileClass::kFull;
    const TileClass first = a_->tile(place, tile);
    if (first == decides) return decides;
    const TileClass second = b_->tile(place, tile);
    if (second == decides) return decides;
    return first == second ? first : TileClass::kPartial;
  }

  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    a_->bits(place, tile, by_key);
    std::array<std::uint64_t, 64> words;  // chunks of keys, so nothing is allocated
    constexpr auto kStretch = static_cast<std::int64_t>(std::tuple_size_v<decltype(words)>);
    for (std::int64_t begin = tile.key_begin; begin < tile.key_end; begin += kStretch) {
      MaskTile part = tile;
      part.key_begin = begin;
      part.key_end = std::min(begin + kStretch, tile.key_end);
      b_->bits(place, part, words.data());
      std::uint64_t* out = by_key + (begin - tile.key_begin);
      for (std::int64_t i = 0; i < part.key_end - part.key_begin; ++i) {
        const std::uint64_t word = words[static_cast<std::size_t>(i)];
        out[i] = join_ == Join::kAnd ? out[i] & word : out[i] | word;
      }
    }
  }

  void check(const MaskTarget& target) const override {
    a_->check(target);
    b_->check(target);
  }

  std::string describe() const override {
    return fmt::format("({} {} {})", a_->describe(), join_ == Join::kAnd ? "&" : "|",
                       b_->describe());
  }

 private:
  Join join_;
  std::shared_ptr<const MaskRule> a_;
  std::shared_ptr<const MaskRule> b_;
};

void require_index(const char* what, std::int64_t index, std::int64_t count) {
  if (index >= 0 && index < count) return;
  fail("mask", what, index,
       count > 0 ? fmt::format("0 to {}", count - 1) : "none: there is no " + std::string(what));
}

// Far below the limit where the sum of two positions overflows.
void require_offset(const char* what, std::int64_t offset) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 60;
  if (offset < -kFarthest || offset > kFarthest) fail("mask", what, offset, "-2^60 to 2^60");
}

}  // namespace

bool Mask::visible(const MaskTarget& target, const MaskPlace& place, std::int64_t row,
                   std::int64_t key) const {
  require_index("batch", place.batch, target.batch);
  require_index("head", place.head, target.heads);
  require_index("row", row, target.query_length);
  require_index("key", key, target.key_length);
  require_offset("q_offset", place.q_offset);
  require_offset("key_offset", place.key_offset);
  if (!rule_) return true;
  rule_->check(target);
  return rule_->visible(place, row, key);
}

Mask operator&(const Mask& a, const Mask& b) {
  if (!a.rule_) return b;
  if (!b.rule_) return a;
  return Mask(std::make_shared<Joined>(Join::kAnd, a.rule_, b.rule_));
}

Mask operator|(const Mask& a, const Mask& b) {
  if (!a.rule_ || !b.rule_) return {};
  return Mask(std::make_shared<Joined>(Join::kOr, a.rule_, b.rule_));
}

std::vector<std::int64_t> integers(std::string_view mask, std::string_view what,
                                   const ConstView& view) {
  if (!view.given()) fail(mask, what, {}, "i64 or i32");
  if (view.dtype() != DType::kI64 && view.dtype() != DType::kI32)
    fail(mask, what, name(view.dtype()), "i64 or i32");
  if (view.raw() == nullptr && view.element_count() != 0)
    fail(mask, fmt::format("{}.data", what), "null", {});
  const Tensor copy = Tensor::copy_of(view);
  std::vector<std::int64_t> values(static_cast<std::size_t>(copy.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        copy.dtype() == DType::kI64 ? copy.data<std::int64_t>()[i] : copy.data<std::int32_t>()[i];
  return values;
}

}  // namespace heed
