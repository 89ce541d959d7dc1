#include "inspect/saved/held_heads.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

#include "heed/base/error.h"
#include "inspect/answers/json_text.h"
#include "inspect/map/tiles.h"
#include "inspect/saved/base64.h"

namespace heed::server {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

template <typename Value>
std::string packed(const Value* values, std::size_t count) {
  return base64({reinterpret_cast<const char*>(values), count * sizeof(Value)});
}

template <typename Value>
std::string packed(const std::vector<Value>& values) {
  return packed(values.data(), values.size());
}

// [1, heads, T, D] or [1, heads, T]: what belongs to one head.
std::string packed_head(const Tensor& tensor, std::int64_t head) {
  const std::int64_t count = tensor.element_count() / tensor.dim(1);
  return packed(tensor.data<float>() + head * count, static_cast<std::size_t>(count));
}

void require_plain(const LayerAttention& layer, int index) {
  const Scores& scores = layer.scores;
  const bool plain = scores.similarity == Similarity::kDot && scores.softcap == 0 &&
                     !scores.bias.given() && !scores.alibi.given() && !scores.sink.given() &&
                     scores.normaliser == Normaliser::kSoftmax;
  if (!plain)
    fail(
        ErrorCode::kUnsupported,
        "html: the scores of layer {} are more than scale * q.k, which a file cannot compute again",
        index);
}

double scale_of(const LayerAttention& layer, int head) {
  const std::vector<double>& scale = layer.scores.scale;
  if (scale.empty()) return 1 / std::sqrt(static_cast<double>(layer.q.dim(3)));
  return scale[scale.size() == 1 ? 0 : static_cast<std::size_t>(head)];
}

std::string packed_lse(const LayerAttention& layer, int head) {
  const std::int64_t length = layer.lse.dim(2);
  std::vector<double> lse(static_cast<std::size_t>(length));
  for (std::int64_t row = 0; row < length; ++row)
    lse[static_cast<std::size_t>(row)] =
        static_cast<double>(layer.lse.data<float>()[head * length + row]) +
        static_cast<double>(layer.lse_low.data<float>()[head * length + row]);
  return packed(lse);
}

// The whole matrix in one tile, which a page would take seconds to pool from a long text.
std::string overview(const LiveSession& session, int layer, int head) {
  Cancel never(std::make_shared<std::atomic<bool>>(false), [] { return false; });
  const CellsRequest cells =
      tile_cells({.session = session.id, .layer = layer, .head = head}, session.length());
  return base64(encode_cells(matrix_cells(session.layer(layer), cells, never), /*bytes=*/true));
}

std::string head_json(const LiveSession& session, int index, int head) {
  const LayerAttention& layer = session.layer(index);
  const LayerHeads scored = session.progress().layers.at(static_cast<std::size_t>(index));
  const HeadStatistics& statistics = scored->at(static_cast<std::size_t>(head));
  const ModelInfo& info = session.info();
  std::string json = fmt::format(
      R"({{"head":{},"group":{},"scale":{},"q":"{}","lse":"{}","received":"{}",)"
      R"("keys_in_use":"{}","row_sum_error":{})",
      head, head / (info.heads / info.kv_heads), json_number(scale_of(layer, head)),
      packed_head(layer.q, head), packed_lse(layer, head), packed(statistics.margins.received),
      packed(statistics.margins.keys_in_use), json_number(statistics.margins.row_sum_error));
  if (session.length() > kTile)
    json += fmt::format(R"(,"overview":"{}")", overview(session, index, head));
  return json + "}";
}

std::string layer_json(const LiveSession& session, int index, const std::vector<int>& heads) {
  const LayerAttention& layer = session.layer(index);
  require_plain(layer, index);
  const VisibleKeys visible = visible_keys(layer, heads.front());
  const ModelInfo& info = session.info();
  std::vector<std::int64_t> groups;
  for (const int head : heads) groups.push_back(head / (info.heads / info.kv_heads));
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  const auto key = [&](std::int64_t group) {
    return fmt::format(R"("{}":"{}")", group, packed_head(layer.k, group));
  };
  std::string keys = json_list(groups, key);  // but an object
  keys.front() = '{';
  keys.back() = '}';
  return fmt::format(R"({{"layer":{},"dim":{},"begins":"{}","ends":"{}","keys":{},"heads":{}}})",
                     index, layer.q.dim(3), packed(visible.begins), packed(visible.ends), keys,
                     json_list(heads, [&](int head) { return head_json(session, index, head); }));
}

// What `heads` of one layer cost, before base64.
std::int64_t bytes_of(const ModelInfo& info, std::int64_t length, std::int64_t heads) {
  const std::int64_t sharing = info.heads / info.kv_heads;
  const std::int64_t groups = (heads + sharing - 1) / sharing;
  return length * (heads * (4 * info.head_dim + 16) + groups * 4 * info.head_dim);
}

// The runs of keys of at most 64 rows, found while the keys pass by: bit i of `word` says whether
// row i sees the key.
class Runs {
 public:
  Runs(VisibleKeys& keys, std::int64_t first) : keys_(keys), first_(first) {}

  void pass(std::int64_t key, std::uint64_t word) {
    if ((word & ended_) != 0)
      fail(ErrorCode::kUnsupported,
           "html: a query sees keys with others between, which a file cannot hold");
    const std::uint64_t ending = begun_ & ~word & ~ended_;
    note(word & ~begun_, keys_.begins, key);
    note(ending, keys_.ends, key);
    ended_ |= ending;
    begun_ |= word;
  }

  // Rows that see nothing end where they begin.
  void finish(std::int64_t rows) {
    const std::uint64_t all = rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
    note(all & ~begun_, keys_.ends, 0);
  }

 private:
  void note(std::uint64_t rows, std::vector<std::int32_t>& to, std::int64_t key) const {
    for (; rows != 0; rows &= rows - 1)
      to[static_cast<std::size_t>(first_ + std::countr_zero(rows))] =
          static_cast<std::int32_t>(key);
  }

  VisibleKeys& keys_;
  std::int64_t first_;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
};

// Where a head's first query and first key stand.
MaskPlace place_of(const LayerAttention& layer, int head) {
  const Extents& extents = layer.extents;
  const std::int64_t key_offset = extents.key_offset.empty() ? 0 : extents.key_offset[0];
  return {.head = head,
          .q_offset = extents.q_offset.empty() ? key_offset : extents.q_offset[0],
          .key_offset = key_offset};
}

}  // namespace

std::vector<std::vector<int>> choose_held(const ModelInfo& info, std::int64_t length,
                                          const ViewAddress& view, std::int64_t bytes) {
  std::vector<std::vector<int>> held(static_cast<std::size_t>(info.layers));
  const std::int64_t layer_bytes = bytes_of(info, length, info.heads);
  std::vector<int> all(static_cast<std::size_t>(info.heads));
  std::iota(all.begin(), all.end(), 0);
  if (layer_bytes * info.layers <= bytes) {
    std::ranges::fill(held, all);
    return held;
  }
  std::vector<int> in_view = view.heads;
  std::ranges::sort(in_view);
  held[static_cast<std::size_t>(view.layer)] = layer_bytes <= bytes ? all : in_view;
  return held;
}

VisibleKeys visible_keys(const LayerAttention& layer, int head) {
  const auto length = static_cast<std::int64_t>(layer.q.dim(2));
  const auto size = static_cast<std::size_t>(length);
  VisibleKeys keys{std::vector<std::int32_t>(size, 0),
                   std::vector<std::int32_t>(size, static_cast<std::int32_t>(length))};
  const MaskRule* rule = layer.mask.rule();
  if (rule == nullptr) return keys;
  const MaskPlace place = place_of(layer, head);
  std::vector<std::uint64_t> by_key(size);
  for (std::int64_t first = 0; first < length; first += kMaskRows) {
    const std::int64_t last = std::min(first + kMaskRows, length);
    rule->bits(place, {first, last, 0, length}, by_key.data());
    Runs runs(keys, first);
    for (std::int64_t key = 0; key < length; ++key)
      runs.pass(key, by_key[static_cast<std::size_t>(key)]);
    runs.finish(last - first);
  }
  return keys;
}

std::string held_json(const LiveSession& session, const std::vector<std::vector<int>>& held) {
  std::vector<int> layers;
  for (int layer = 0; layer < session.info().layers; ++layer)
    if (!held[static_cast<std::size_t>(layer)].empty()) layers.push_back(layer);
  return json_list(layers, [&](int layer) {
    return layer_json(session, layer, held[static_cast<std::size_t>(layer)]);
  });
}

}  // namespace heed::server
