// Which query may attend to which key, as data. True means *may attend*.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// One (batch, head) of a problem and the positions of its first row and key: query i has position
/// `q_offset + i`, key j has `key_offset + j`, in the same coordinates.
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

/// Rows of a tile that `bits` can answer at once: one bit per row.
inline constexpr std::int64_t kMaskRows = 64;

/// One rule. `visible` defines it; `tile` and `bits` answer faster and must never contradict it:
/// kFull and kEmpty are promises, kPartial is always allowed. A new mask implements the four pure
/// functions.
class MaskRule {
 public:
  virtual ~MaskRule() = default;

  /// Called by kernels without checks: the pair must belong to a problem that `check` accepted.
  /// Mask::visible checks both.
  virtual bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const = 0;
  virtual TileClass tile(const MaskPlace& place, const MaskTile& tile) const = 0;
  /// Throws if the rule cannot serve a problem of this shape.
  virtual void check(const MaskTarget& target) const = 0;
  /// `band(left=-1, right=0)`, as `explain` prints it.
  virtual std::string describe() const = 0;

  /// Bit (i - row_begin) of `by_key[j - key_begin]` is visible(i, j); at most kMaskRows rows.
  virtual void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const;
};

/// How many keys on each side of its own position a query may attend to; -1: all keys.
struct Band {
  std::int64_t left = -1;
  std::int64_t right = -1;
};

/// How many queries and keys share one layout entry.
struct BlockSize {
  std::int64_t rows = 64;
  std::int64_t keys = 64;
};

/// `visible` defines the mask; `tile` answers for a whole tile, faster, and must never contradict
/// it: kFull and kEmpty are promises, kPartial is always allowed (and is the default without
/// `tile`). Both are called from several threads at once, with the caller's rounding and denormal
/// modes. They may throw: the first exception ends the call and reaches its caller. They may call
/// heed's operators, which then run on the calling thread alone.
struct MaskFunctions {
  std::function<bool(const MaskPlace& place, std::int64_t row, std::int64_t key)> visible = {};
  std::function<TileClass(const MaskPlace& place, const MaskTile& tile)> tile = {};
  std::string name = "custom";  // shown by `describe`
};

/// A rule as a value; the default lets every query attend to every key.
class Mask {
 public:
  Mask() = default;
  explicit Mask(std::shared_ptr<const MaskRule> rule) : rule_(std::move(rule)) {}

  /// Visible where `p_i - left <= p_j <= p_i + right`, with the positions of Extents
  /// (attention.h).
  static Mask band(const Band& sides);

  /// `band({.left = -1, .right = 0})`: no key after the query's own position. Bottom-right
  /// aligned by default (the last query sees every key, FlashAttention's convention), since
  /// `q_offset` defaults to key_length - query_length; top-left (PyTorch's `is_causal`) is
  /// `q_offset = 0`.
  static Mask causal();

  /// Visible where `visible` (bool or u8, not 0) is true. Broadcasts right-aligned to [B, H, Tq,
  /// Tk] by stride 0 and is never materialised. Its columns count keys, not slots: with left
  /// padding column 0 is the key in slot key_begin (Extents in attention.h, also for packed
  /// sequences). The memory must outlive the mask.
  static Mask keep(const ConstView& visible);

  /// Block-sparse attention: visible where layout[.., i / rows, j / keys] (bool or u8, not 0) is
  /// true. The layout has ceil(Tq / rows) by ceil(Tk / keys) entries and broadcasts right-aligned
  /// over batch and heads by stride 0. The memory must outlive the mask.
  static Mask blocks(const ConstView& layout, const BlockSize& size = {});

  /// Visible along the edges of a graph in compressed sparse rows, the same for every batch and
  /// head: query i sees the keys columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], in
  /// strictly ascending order. `row_starts` has Tq + 1 entries; both are i32 or i64 and are copied.
  static Mask edges(const ConstView& row_starts, const ConstView& columns);

  /// Visible where the key's position is below `lengths[b]` (one entry per batch, or one for all).
  /// `Mask::causal() | Mask::prefix({n})` is the prefix language model's mask: the first n keys are
  /// seen by all, the rest causally (Raffel et al. 2020, figure 4).
  static Mask prefix(std::vector<std::int64_t> lengths);

  /// Visible where query and key have the same segment id: several documents in one sequence. Ids
  /// are i32 or i64, [T] for every batch or [B, T], by logical index; they are copied. A document
  /// inside a long sequence gives the same result as alone within rounding; with extents per
  /// document (attention.h), bit for bit.
  static Mask segments(const ConstView& query_ids, const ConstView& key_ids);
  /// Self-attention: queries and keys are the same tokens.
  static Mask segments(const ConstView& ids);

  /// Visible where the caller's function returns true.
  static Mask custom(MaskFunctions functions);

  /// Null if every query may attend to every key.
  const MaskRule* rule() const { return rule_.get(); }
  std::string describe() const { return rule_ ? rule_->describe() : "none"; }
  /// Whether query `row` may attend to `key` in a problem of the shape `target`. Throws if the rule
  /// cannot serve this shape, or if it has no such pair.
  bool visible(const MaskTarget& target, const MaskPlace& place, std::int64_t row,
               std::int64_t key) const;

 private:
  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);
  std::shared_ptr<const MaskRule> rule_;
};

/// Visible where both are; the default mask is neutral.
Mask operator&(const Mask& a, const Mask& b);
/// Visible where either is; the default mask absorbs.
Mask operator|(const Mask& a, const Mask& b);

}  // namespace heed
