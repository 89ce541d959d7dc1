#include "inspect/session/edit_tap.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "heed/mask.h"

namespace heed {
namespace {

std::uint64_t all_rows(const MaskTile& tile) {
  const std::int64_t rows = tile.row_end - tile.row_begin;
  return rows >= kMaskRows ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
}

// Closed edges of one layer by (head, query), and keys that are closed for everybody; each list
// rises, so that a tile asks for its own alone.
class ClosedRule final : public MaskRule {
 public:
  ClosedRule(std::set<std::int64_t> keys, std::set<RemovedEdge> edges)
      : keys_(std::move(keys)), edges_(std::move(edges)) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return !keys_.contains(key) && !edges_.contains(edge(place, row, key));
  }

  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    const auto hidden = keys_.lower_bound(tile.key_begin);
    if (hidden != keys_.end() && *hidden < tile.key_end) return TileClass::kPartial;
    const auto first = edges_.lower_bound(edge(place, tile.row_begin, 0));
    return first != edges_.end() && *first < edge(place, tile.row_end, 0) ? TileClass::kPartial
                                                                          : TileClass::kFull;
  }

  void check(const MaskTarget&) const override {}
  std::string describe() const override { return "edits"; }

  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    std::fill_n(by_key, tile.key_end - tile.key_begin, all_rows(tile));
    for (auto key = keys_.lower_bound(tile.key_begin); key != keys_.end() && *key < tile.key_end;
         ++key)
      by_key[*key - tile.key_begin] = 0;
    const RemovedEdge end = edge(place, tile.row_end, 0);
    for (auto at = edges_.lower_bound(edge(place, tile.row_begin, 0));
         at != edges_.end() && *at < end; ++at)
      if (at->key >= tile.key_begin && at->key < tile.key_end)
        by_key[at->key - tile.key_begin] &= ~(std::uint64_t{1} << (at->query - tile.row_begin));
  }

 private:
  // All of them are of one layer, which is not said.
  static RemovedEdge edge(const MaskPlace& place, std::int64_t row, std::int64_t key) {
    return {.place = {.head = static_cast<int>(place.head)}, .query = row, .key = key};
  }

  std::set<std::int64_t> keys_;
  std::set<RemovedEdge> edges_;
};

// A band of some heads; the others see everything.
class HeadBandRule final : public MaskRule {
 public:
  explicit HeadBandRule(const AddedMask& added)
      : head_(added.head), band_(Mask::band({.left = added.left, .right = added.right})) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return !is_of(place) || band_.rule()->visible(place, row, key);
  }
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return is_of(place) ? band_.rule()->tile(place, tile) : TileClass::kFull;
  }
  void check(const MaskTarget&) const override {}
  std::string describe() const override { return "added " + band_.describe(); }
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    if (is_of(place)) return band_.rule()->bits(place, tile, by_key);
    std::fill_n(by_key, tile.key_end - tile.key_begin, all_rows(tile));
  }

 private:
  bool is_of(const MaskPlace& place) const { return !head_ || place.head == *head_; }

  std::optional<int> head_;
  Mask band_;
};

TokenSide key_side(const Session& session, Stack stack) {
  return session.keys(stack).data() == session.tokens.data() ? TokenSide::kTokens
                                                             : TokenSide::kKeyTokens;
}

}  // namespace

Mask edit_mask(const Session& session, Stack stack, int layer) {
  const Edits& edits = session.edits;
  std::set<std::int64_t> keys;
  for (const EditedToken& hidden : edits.hide)
    if (hidden.side == key_side(session, stack)) keys.insert(hidden.position);
  std::set<RemovedEdge> edges;
  for (const RemovedEdge& edge : edits.remove)
    if (edge.place.stack == stack && edge.place.layer == layer)
      edges.insert({.place = {.head = edge.place.head}, .query = edge.query, .key = edge.key});
  Mask mask;
  if (!keys.empty() || !edges.empty())
    mask = Mask(std::make_shared<ClosedRule>(std::move(keys), std::move(edges)));
  for (const AddedMask& added : edits.mask)
    if (added.stack == stack && added.layer.value_or(layer) == layer &&
        (added.left >= 0 || added.right >= 0))
      mask = mask & Mask(std::make_shared<HeadBandRule>(added));
  return mask;
}

EditTap::EditTap(const Session& session, Tap* next) : session_(session), next_(next) {}

void EditTap::at(const TapName& name, View value) {
  if (name.kind == TapKind::kHeads)
    for (const Place& place : session_.edits.ablate) {
      if (place.stack != name.stack || place.layer != name.layer) continue;
      const View head = value.select(1, place.head);  // [B, T, Dv]
      for (std::int64_t b = 0; b < head.dim(0); ++b)
        for (std::int64_t t = 0; t < head.dim(1); ++t)
          std::fill_n(head.select(0, b).select(0, t).data<float>(), head.dim(2), 0.0F);
    }
  if (next_ != nullptr) next_->at(name, value);
}

void EditTap::attended(const TapName& name, const AttentionArgs& args,
                       const AttendedConstView& attended) {
  if (next_ != nullptr) next_->attended(name, args, attended);
}

Mask EditTap::mask(Stack stack, int layer) {
  const Mask own = edit_mask(session_, stack, layer);
  return next_ == nullptr ? own : own & next_->mask(stack, layer);
}

}  // namespace heed
