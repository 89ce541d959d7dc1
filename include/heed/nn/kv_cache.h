// Keys and values of the tokens that a decoder has seen, so that a new token costs one row of
// attention and not a pass over the whole text.
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
  std::int64_t capacity = 0;  // tokens that a row has room for
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

enum class KvForm : std::uint8_t {
  kContiguous,  // k [B, G, capacity, D] a layer: a row's tokens one after the other
  kRing,        // the same, but new keys replace the oldest: for sliding windows
  kPaged,       // pages [pages, G, page_size, D], taken as a row grows
};

struct KvCacheOptions {
  DType dtype = DType::kF32;  // f64, f32, f16, bf16, or i8 with scales (ops/quantise.h)
  KvForm form = KvForm::kContiguous;
  std::int64_t left = 0;        // ring: keys that a query sees beside its own (band's left)
  std::int64_t page_size = 16;  // paged: tokens of a page
  std::int64_t pages = 0;       // paged: in the pool of each layer; 0: enough for every row
};

/// Keys and values of another text that the rows attend to as well: what an encoder made of a
/// source.
struct SourceKeys {
  Tensor k;                                // [B, S, G D], each row its heads one after the other
  Tensor v;                                // [B, S, G Dv]
  std::vector<std::int64_t> lengths = {};  // tokens of each row's source
};

/// A pass appends in every layer, attends to keys(layer) with extents(counts), and then advances.
/// Until it advances, the cache holds what it held before, so a pass that fails half way may be
/// repeated. A ring of `capacity` slots keeps the last `left` keys of each row for the first query
/// of the next pass: it takes at most capacity - left tokens a pass, and any number in all.
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape, const KvCacheOptions& options = {});
  ~KvCache();
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) noexcept;

  const KvCacheShape& shape() const { return shape_; }
  const KvCacheOptions& options() const { return options_; }
  /// Tokens of each row so far: the position of its next one.
  std::span<const std::int64_t> lengths() const { return lengths_; }
  std::int64_t free_pages() const;

  /// Throws, and writes nothing, unless there is one count a row and room for all.
  void require_room(std::span<const std::int64_t> counts) const;
  /// Writes the first counts[b] rows of keys.k [B, G, T, D] and keys.v [B, G, T, Dv], of any
  /// floating type and strides, behind row b's tokens. With `rope` keys are turned first, in their
  /// own type: by each token's position, unless `rope` has positions or angles of every token; its
  /// x and offset are the cache's.
  void append(int layer, const Keys& keys, std::span<const std::int64_t> counts,
              const std::optional<RopeArgs>& rope = {});
  /// Keeps the tokens that this pass has appended: the first counts[b] of row b, at most as many as
  /// it has appended in each layer.
  void advance(std::span<const std::int64_t> counts);

  /// All slots of a layer, in the cache's form; slots that were never written are undefined. Throws
  /// for a layer that this pass has not appended, where it has appended another one.
  Keys keys(int layer) const;
  /// Where the keys of a pass that has appended `counts` lie, and where its queries stand: row b
  /// has counts[b] of them.
  Extents extents(std::span<const std::int64_t> counts) const;

  /// Takes a layer's keys of the source, which stay as they are for all passes.
  void put_source(int layer, SourceKeys keys);
  /// Null until they were put.
  const SourceKeys* source(int layer) const;

  /// Row r becomes what row rows[r] is. A row that is named several times branches: each of its
  /// copies goes on by itself. One that is not named is forgotten. At most as many rows as the
  /// cache was made for; of a paged cache, branches take pages. Tokens of a pass that has not
  /// advanced are forgotten.
  void select(std::span<const std::int64_t> rows);
  /// Forgets a row's tokens: a new text may begin there.
  void clear(std::int64_t row);

 private:
  struct Slots {
    Tensor values;
    Tensor scales;  // of i8
  };
  struct Layer {
    Slots k;
    Slots v;
    std::vector<std::int64_t> appended = {};  // tokens of each row that this pass has written
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
  std::int64_t most_rows_;  // that the slots have room for
  KvCacheOptions options_;
  std::vector<Layer> layers_;
  std::vector<std::int64_t> lengths_;
  std::unique_ptr<PagePool> pool_;  // of pages; without any in the other forms
};

}  // namespace heed
