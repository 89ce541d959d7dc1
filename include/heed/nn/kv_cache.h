// Keys and values of the tokens that a decoder has seen, so that a new token costs one row of
// attention instead of a pass over the whole text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heed/attention.h"
#include "heed/ops/operators.h"
#include "heed/tensor.h"

namespace heed {

class PagePool;

struct KvCacheShape {
  std::int64_t layers = 0;
  std::int64_t batch = 0;  // rows: texts that grow side by side, each with its own length
  std::int64_t kv_heads = 0;
  std::int64_t capacity = 0;  // maximum tokens per row
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

enum class KvForm : std::uint8_t {
  kContiguous,  // k [B, G, capacity, D] per layer: a row's tokens in order
  kRing,        // the same, but new keys replace the oldest: for sliding windows
  kPaged,       // pages [pages, G, page_size, D], allocated as a row grows
};

struct KvCacheOptions {
  DType dtype = DType::kF32;  // f64, f32, f16, bf16, or i8 with scales (ops/quantise.h)
  KvForm form = KvForm::kContiguous;
  std::int64_t left = 0;        // ring: how many earlier keys a query sees (the band's left)
  std::int64_t page_size = 16;  // paged: tokens per page
  std::int64_t pages = 0;       // paged: pages per layer; 0: enough for every row
};

/// Keys and values of another text that the rows also attend to: an encoder's output for a source.
struct SourceKeys {
  Tensor k;                                // [B, S, G D]: the heads of a token are adjacent
  Tensor v;                                // [B, S, G Dv]
  std::vector<std::int64_t> lengths = {};  // tokens in each row's source
};

/// A pass appends in every layer, attends to keys(layer) with extents(counts), and then advances.
/// Until it advances, the cache keeps its previous contents, so a pass that fails half way may be
/// repeated. A ring of `capacity` slots keeps the last `left` keys of each row for the first query
/// of the next pass, so it accepts at most capacity - left tokens per pass, and any number in
/// total.
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape, const KvCacheOptions& options = {});
  ~KvCache();
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) noexcept;

  const KvCacheShape& shape() const { return shape_; }
  const KvCacheOptions& options() const { return options_; }
  /// Tokens in each row so far, which is the position of its next token.
  std::span<const std::int64_t> lengths() const { return lengths_; }
  std::int64_t free_pages() const;

  /// Throws, and writes nothing, unless there is one count per row and room for all.
  void require_room(std::span<const std::int64_t> counts) const;
  /// Appends the first counts[b] rows of keys.k [B, G, T, D] and keys.v [B, G, T, Dv], of any
  /// floating type and strides, to row b. With `rope`, keys are first rotated in their own type, by
  /// the token's position unless `rope` has positions or angles for every token; the cache sets
  /// rope's x and offset.
  void append(int layer, const Keys& keys, std::span<const std::int64_t> counts,
              const std::optional<RopeArgs>& rope = {});
  /// Keeps the tokens appended in this pass: the first counts[b] of row b, at most as many as were
  /// appended in each layer.
  void advance(std::span<const std::int64_t> counts);

  /// All slots of a layer, in the cache's form; slots never written are undefined. Throws for a
  /// layer that this pass has not appended although it has appended another one.
  Keys keys(int layer) const;
  /// The extents of a pass that has appended `counts`, with counts[b] queries in row b: where its
  /// keys are stored, and the positions of its queries.
  Extents extents(std::span<const std::int64_t> counts) const;

  /// Stores a layer's keys of the source, which are the same for all passes.
  void put_source(int layer, SourceKeys keys);
  /// Null before put_source.
  const SourceKeys* source(int layer) const;

  /// Reorders the batch: new row r is a copy of old row rows[r]. A row that is named several times
  /// branches: its copies continue independently. A row that is not named is dropped. At most as
  /// many rows as the cache was made for; branches of a paged cache take pages. Tokens of a pass
  /// that has not advanced are dropped.
  void select(std::span<const std::int64_t> rows);
  /// Drops a row's tokens, so that a new text can begin there.
  void clear(std::int64_t row);

 private:
  struct Slots {
    Tensor values;
    Tensor scales;  // i8 only
  };
  struct Layer {
    Slots k;
    Slots v;
    std::vector<std::int64_t> appended = {};  // tokens that this pass has written, per row
    SourceKeys source = {};

    bool has_appended() const;
  };
  struct Place {
    std::int64_t block;
    std::int64_t slot;
  };

  Slots slots_of(std::int64_t width) const;
  std::size_t index_of(int layer) const;
  void require_appended(std::span<const std::int64_t> counts) const;
  Place place(std::int64_t row, std::int64_t token) const;
  std::int64_t first_kept(std::int64_t row) const;
  void write(const ConstView& source, Slots& slots, std::span<const std::int64_t> counts) const;
  void write_rows(const ConstView& source, const View& slots,
                  std::span<const std::int64_t> counts) const;
  void require_selectable(std::span<const std::int64_t> rows) const;

  KvCacheShape shape_;
  std::int64_t most_rows_;  // capacity of the slots
  KvCacheOptions options_;
  std::vector<Layer> layers_;
  std::vector<std::int64_t> lengths_;
  std::unique_ptr<PagePool> pool_;  // paged form only
};

}  // namespace heed
