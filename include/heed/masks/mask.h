// Who may attend to whom, as data. True means *may attend*.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace heed {

/// One (batch, head) of a problem and where its first row and key stand: query i stands at
/// `q_offset + i`, key j at `key_offset + j`, in the same coordinates.
struct MaskPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t q_offset = 0;
  std::int64_t key_offset = 0;
};

/// The rows [row_begin, row_end) and keys [key_begin, key_end), by logical index. Never empty.
struct MaskTile {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
};

enum class TileClass : std::uint8_t { kEmpty, kPartial, kFull };

/// The shape that a mask is asked to fit.
struct MaskTarget {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
};

/// Rows of a tile that `bits` can answer at once: one bit each.
inline constexpr std::int64_t kMaskRows = 64;

/// One rule. `visible` is the truth; `tile` and `bits` say the same faster and must never
/// contradict it: kFull and kEmpty are promises, kPartial is always allowed. A new mask implements
/// the four pure functions.
class MaskRule {
 public:
  virtual ~MaskRule() = default;

  /// Unchecked, as kernels call it: of a pair of a problem that `check` has let through. Mask's own
  /// `visible` checks both.
  virtual bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const = 0;
  virtual TileClass tile(const MaskPlace& place, const MaskTile& tile) const = 0;
  /// Throws when the rule cannot serve a problem of this shape.
  virtual void check(const MaskTarget& target) const = 0;
  /// `band(left=-1, right=0)`, as `explain` prints it.
  virtual std::string describe() const = 0;

  /// Bit (i - row_begin) of `by_key[j - key_begin]` is visible(i, j); at most kMaskRows rows.
  virtual void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const;
};

/// A rule to pass around by value; the default lets everyone attend to everyone.
class Mask {
 public:
  Mask() = default;
  explicit Mask(std::shared_ptr<const MaskRule> rule) : rule_(std::move(rule)) {}

  /// Null for "everyone".
  const MaskRule* rule() const { return rule_.get(); }
  std::string describe() const { return rule_ ? rule_->describe() : "none"; }
  /// Whether query `row` may attend to `key` in a problem of the shape `target`. Throws where the
  /// rule cannot serve it, or it has no such pair.
  bool visible(const MaskTarget& target, const MaskPlace& place, std::int64_t row,
               std::int64_t key) const;

 private:
  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);
  std::shared_ptr<const MaskRule> rule_;
};

/// Visible where both are; "everyone" is neutral.
Mask operator&(const Mask& a, const Mask& b);
/// Visible where one of them is; "everyone" wins.
Mask operator|(const Mask& a, const Mask& b);

}  // namespace heed
