#include "inspect/session/edit_tap.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "heed/error.h"
#include "heed/mask.h"
#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

std::uint64_t all_rows(const MaskTile& tile) {
  const std::int64_t rows = tile.row_end - tile.row_begin;
  return rows >= kMaskRows ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
}

// The edges of one layer that edits hide, by (head, query), and the keys hidden from every query.
// Each list is in ascending order, so a tile reads only its own part.
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
  // All edges are in one layer, so the key omits it.
  static RemovedEdge edge(const MaskPlace& place, std::int64_t row, std::int64_t key) {
    return {.place = {.head = static_cast<int>(place.head)}, .query = row, .key = key};
  }

  std::set<std::int64_t> keys_;
  std::set<RemovedEdge> edges_;
};

// The mask of one head, or of all heads; it hides nothing from other heads.
class HeadRule final : public MaskRule {
 public:
  HeadRule(std::optional<int> head, Mask mask) : head_(head), mask_(std::move(mask)) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return !is_of(place) || mask_.rule()->visible(place, row, key);
  }
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return is_of(place) ? mask_.rule()->tile(place, tile) : TileClass::kFull;
  }
  void check(const MaskTarget& target) const override { mask_.rule()->check(target); }
  std::string describe() const override { return "added " + mask_.describe(); }
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    if (is_of(place)) return mask_.rule()->bits(place, tile, by_key);
    std::fill_n(by_key, tile.key_end - tile.key_begin, all_rows(tile));
  }

 private:
  bool is_of(const MaskPlace& place) const { return !head_ || place.head == *head_; }

  std::optional<int> head_;
  Mask mask_;
};

bool is_of(const Place& place, const TapName& name) {
  return place.stack == name.stack && place.layer == name.layer;
}

View head_of(Tensor& tensor, int head) { return tensor.view().slice(1, head, head + 1); }

// Returns the heads' output of another run, [1, H, T, Dv], computed under that run's edits.
Tensor outputs_of(const Session& session, const TapName& name) {
  const LayerAttention& layer = session.at({.stack = name.stack, .layer = name.layer});
  Tensor out = widened(attention(layer.args()).out);
  EditTap(session, nullptr).at(name, out);
  return out;
}

void write_zeros(const View& head) {
  for (std::int64_t b = 0; b < head.dim(0); ++b)
    for (std::int64_t t = 0; t < head.dim(1); ++t)
      std::fill_n(head.select(0, b).select(0, t).data<float>(), head.dim(2), 0.0F);
}

// Multiplies the numbers that are added to one head's scores. Elements may share memory, as in a
// bias by distance; each number is multiplied once.
void scale_head(KeptView& bias, const ConstView& head, double factor) {
  float* const memory = bias.memory.data<float>();
  std::vector<bool> done(static_cast<std::size_t>(bias.memory.element_count()));
  for (std::int64_t i = 0; i < head.dim(0); ++i)
    for (std::int64_t j = 0; j < head.dim(1); ++j) {
      const std::int64_t at = head.data<float>() + i * head.stride(0) + j * head.stride(1) - memory;
      if (done[static_cast<std::size_t>(at)]) continue;
      done[static_cast<std::size_t>(at)] = true;
      memory[at] = static_cast<float>(factor * static_cast<double>(memory[at]));
    }
}

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
      mask = mask & Mask(std::make_shared<HeadRule>(
                        added.head, Mask::band({.left = added.left, .right = added.right})));
  for (const MaskedHead& masked : edits.masked)
    if (masked.place.stack == stack && masked.place.layer == layer && masked.mask.rule() != nullptr)
      mask = mask & Mask(std::make_shared<HeadRule>(masked.place.head, masked.mask));
  return mask;
}

EditTap::EditTap(const Session& session, Tap* next) : session_(session), next_(next) {}

void EditTap::at(const TapName& name, View value) {
  if (name.kind == TapKind::kHeads) {
    if (edited_.out.given()) copy_elements(edited_.out, value);
    edited_ = {};
    for (const Place& place : session_.edits.ablate)
      if (is_of(place, name)) write_zeros(value.select(1, place.head));  // [B, T, Dv]
    patch(name, value);
  }
  if (next_ != nullptr) next_->at(name, value);
}

void EditTap::patch(const TapName& name, const View& value) const {
  const Session* last = nullptr;
  Tensor outputs;
  for (const PatchedHead& patched : session_.edits.patch) {
    if (!is_of(patched.place, name)) continue;
    const Session* const from = patched.from.session.get();
    if (from != last) outputs = outputs_of(*from, name);
    last = from;
    const auto rows = [&](const View& of) {
      const View head = of.slice(1, patched.place.head, patched.place.head + 1);
      return patched.query < 0 ? head : head.slice(2, patched.query, patched.query + 1);
    };
    copy_elements(rows(outputs), rows(value));
  }
}

bool EditTap::changes_scores(const TapName& name) const {
  const auto has = [&](const auto& edits) {
    return std::ranges::any_of(edits, [&](const auto& edit) { return is_of(edit.place, name); });
  };
  const Edits& edits = session_.edits;
  return has(edits.freeze) || has(edits.temperature) || has(edits.steer);
}

void EditTap::freeze(const TapName& name, AttentionArgs& args) {
  bool is_copied = false;
  for (const FrozenHead& frozen : session_.edits.freeze) {
    if (!is_of(frozen.place, name)) continue;
    if (!is_copied) {
      q_ = Tensor::copy_of(args.q);
      k_ = Tensor::copy_of(args.keys.k);
      args.q = q_;
      args.keys.k = k_;
      is_copied = true;
    }
    const LayerAttention& from = frozen.from.session->at(frozen.place);
    const int head = frozen.place.head;
    const int group = head / static_cast<int>(q_.dim(1) / k_.dim(1));
    const auto put = [](const Tensor& theirs, int at, Tensor& into) {
      copy_elements(Tensor::converted(theirs.view().slice(1, at, at + 1), into.dtype()),
                    head_of(into, at));
    };
    put(from.q, head, q_);
    put(from.k, group, k_);
  }
}

void EditTap::temper(const TapName& name, AttentionArgs& args) {
  const auto heads = static_cast<std::size_t>(args.q.dim(1));
  std::vector<double> factors(heads, 1);
  for (const Temperature& edit : session_.edits.temperature)
    if (is_of(edit.place, name)) factors[static_cast<std::size_t>(edit.place.head)] = edit.factor;
  if (std::ranges::count(factors, 1.0) == std::ssize(factors)) return;
  Scores& scores = args.scores;
  if (scores.softcap > 0 && std::ranges::count(factors, factors[0]) != std::ssize(factors))
    fail("temperature", "heads",
         fmt::format("some heads of layer {}, whose scores have a softcap", name.layer),
         "all heads of the layer, by one factor", ErrorCode::kUnsupported);
  scores.softcap *= factors[0];
  scores.scale.resize(heads, scores.scale.at(0));
  for (std::size_t head = 0; head < heads; ++head) scores.scale[head] *= factors[head];
  if (scores.alibi.given()) {
    slopes_ = Tensor::converted(scores.alibi, DType::kF64);
    for (std::size_t head = 0; head < heads; ++head) slopes_.data<double>()[head] *= factors[head];
    scores.alibi = slopes_;
  }
  if (!scores.bias.given()) return;
  bias_ = kept(scores.bias);
  for (std::size_t head = 0; head < heads; ++head)
    if (factors[head] != 1)
      scale_head(bias_, bias_.view.select(0, 0).select(0, static_cast<std::int64_t>(head)),
                 factors[head]);
  scores.bias = bias_.view;
}

void EditTap::steer(const TapName& name, AttentionArgs& args) {
  std::vector<Steering> own;
  std::ranges::copy_if(session_.edits.steer, std::back_inserter(own),
                       [&](const Steering& edit) { return is_of(edit.place, name); });
  if (own.empty()) return;
  const std::int64_t H = args.q.dim(1), Tq = args.q.dim(2), Tk = args.keys.k.dim(2);
  const Shape cells = {1, H, Tq, Tk};
  // All queries are treated alike, so there is one row per head.
  const bool is_by_key = !args.scores.bias.given() &&
                         std::ranges::all_of(own, [](const auto& edit) { return edit.query < 0; });
  Tensor sums = args.scores.bias.given()
                    ? Tensor::converted(args.scores.bias.broadcast_to(cells), DType::kF32)
                    : Tensor::zeros({1, H, is_by_key ? 1 : Tq, Tk});
  for (const Steering& edit : own) {
    const View head = sums.view().select(0, 0).select(0, edit.place.head);
    const std::int64_t begin = std::max<std::int64_t>(edit.query, 0);
    const std::int64_t end = edit.query < 0 ? head.dim(0) : edit.query + 1;
    for (std::int64_t row = begin; row < end; ++row)
      head.data<float>()[row * Tk + edit.key] += static_cast<float>(edit.by);
  }
  bias_.memory = std::move(sums);
  bias_.view =
      ConstView(bias_.memory.view().raw(), DType::kF32, cells,
                {H * Tk * (is_by_key ? 1 : Tq), Tk * (is_by_key ? 1 : Tq), is_by_key ? 0 : Tk, 1});
  args.scores.bias = bias_.view;
}

void EditTap::attended(const TapName& name, const AttentionArgs& args,
                       const AttendedConstView& attended) {
  if (!changes_scores(name)) {
    if (next_ != nullptr) next_->attended(name, args, attended);
    return;
  }
  AttentionArgs changed = args;
  freeze(name, changed);
  temper(name, changed);
  steer(name, changed);
  edited_ = attention(changed);
  if (next_ != nullptr)
    next_->attended(name, changed,
                    {.out = edited_.out, .lse = edited_.lse, .lse_low = edited_.lse_low});
}

Mask EditTap::mask(Stack stack, int layer) {
  const Mask own = edit_mask(session_, stack, layer);
  return next_ == nullptr ? own : own & next_->mask(stack, layer);
}

}  // namespace heed
