#include "ranks/ring.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <utility>

#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "ops/elementwise.h"

namespace heed {

void add_part(const View& to, const ConstView& part) {
  const bool as_it_is = part.dtype() == to.dtype() && part.is_contiguous();
  const Tensor widened = as_it_is ? Tensor() : Tensor::converted(part, to.dtype());
  const ConstView terms = as_it_is ? part : widened.view();
  for (std::int64_t batch = 0; batch < to.dim(0); ++batch)
    for (std::int64_t head = 0; head < to.dim(1); ++head)
      add_to(to.select(0, batch).select(0, head), terms.select(0, batch).select(0, head));
}

namespace {

// A value that must be the same on every rank, with its name in errors.
struct Likeness {
  std::string_view name;
  std::int64_t value = 0;
};

std::int64_t digest(const std::string& text) {
  return static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
}

std::array<Likeness, 13> likeness_of(const RingAttentionArgs& args, bool refused) {
  const AttentionArgs& local = args.local;
  const auto dim = [](const ConstView& view, int axis) {
    return view.rank() == 4 ? view.dim(axis) : -1;
  };
  const auto type = [](const ConstView& view) { return static_cast<std::int64_t>(view.dtype()); };
  return {{{"arguments", refused ? 1 : 0},
           {"length", args.length},
           {"split", static_cast<std::int64_t>(args.split)},
           {"q.shape[0]", dim(local.q, 0)},
           {"q.shape[1]", dim(local.q, 1)},
           {"q.shape[3]", dim(local.q, 3)},
           {"keys.k.shape[1]", dim(local.keys.k, 1)},
           {"keys.v.shape[3]", dim(local.keys.v, 3)},
           {"q.dtype", type(local.q)},
           {"keys.k.dtype", type(local.keys.k)},
           {"keys.v.dtype", type(local.keys.v)},
           {"mask", digest(local.mask.describe())},
           {"scores", digest(fmt::format("{} {} {}", joined(local.scores.scale, ","),
                                         local.scores.softcap, local.scores.sink.given()))}}};
}

// Rejects forms of keys, positions and biases that do not match the ring's parts.
void refuse_what_is_not_served(std::string_view op, const RingAttentionArgs& args) {
  const AttentionArgs& local = args.local;
  const Keys& keys = local.keys;
  if (keys.page_table.given() || !keys.ring_begin.empty() || keys.k_scales.given() ||
      keys.v_scales.given())
    fail(op, "local.keys", "pages, a ring or scales", "k and v alone");
  const Extents& extents = local.extents;
  if (!(extents.query_length.empty() && extents.key_begin.empty() && extents.key_length.empty() &&
        extents.q_offset.empty() && extents.key_offset.empty() && extents.query_starts.empty() &&
        extents.key_starts.empty()))
    fail(op, "local.extents", "given",
         "none: ring_parts gives the positions of every rank's tokens");
  const ConstView& bias = local.scores.bias;
  for (const int axis : {-2, -1})
    if (bias.given() && bias.rank() >= -axis && bias.dim(axis) != 1 &&
        bias.dim(axis) != args.length)
      fail(op, fmt::format("local.scores.bias.shape[{}]", bias.rank() + axis), bias.dim(axis),
           fmt::format("{} (length) or 1", args.length));
}

}  // namespace

std::vector<RingPart> ring_parts(RingSplit split, std::int64_t length, int rank, int count) {
  require_enumerator("ring_parts", "split", split, RingSplit::kZigzag);
  const auto part = [&](std::int64_t index, std::int64_t parts) {
    return RingPart{length * index / parts, length * (index + 1) / parts};
  };
  if (split == RingSplit::kContiguous) return {part(rank, count)};
  const std::int64_t parts = 2 * std::int64_t{count};
  return {part(rank, parts), part(parts - 1 - rank, parts)};
}

Ring::Ring(Ranks& ranks, const RingAttentionArgs& args, std::string_view op)
    : args_(args), rank_(ranks.rank()), count_(ranks.count()) {
  std::exception_ptr refused;
  try {
    check_own(op);
  } catch (...) {
    refused = std::current_exception();  // thrown after the other ranks know of it
  }
  check_together(ranks, op, refused);
}

void Ring::check_own(std::string_view op) {
  const AttentionArgs& local = args_.local;
  require_enumerator(op, "split", args_.split, RingSplit::kZigzag);
  if (args_.length < 0) fail(op, "length", args_.length, "0 or more");
  for (int rank = 0; rank < count_; ++rank) {
    std::vector<HeldPart> held;
    for (const RingPart& part : ring_parts(args_.split, args_.length, rank, count_))
      held.push_back({part, held.empty() ? 0 : held.back().at + held.back().size()});
    parts_.push_back(std::move(held));
  }
  const auto require_tokens = [&](const char* name, const ConstView& view) {
    if (view.rank() != 4) fail(op, name, to_string(view.shape()), "[B, heads, T, D]");
    if (view.dim(2) != tokens(rank_))
      fail(op, fmt::format("{}.shape[2]", name), view.dim(2),
           fmt::format("{} (what rank {} of {} holds of {})", tokens(rank_), rank_, count_,
                       number_of(args_.length, "token")));
  };
  require_tokens("local.q", local.q);
  require_tokens("local.keys.k", local.keys.k);
  require_tokens("local.keys.v", local.keys.v);
  refuse_what_is_not_served(op, args_);
  if (args_.length > 0) (void)plan_attention(between(own().front(), own().front(), local.keys));
}

void Ring::check_together(Ranks& ranks, std::string_view op, const std::exception_ptr& refused) {
  const auto here = likeness_of(args_, refused != nullptr);
  std::vector<std::int64_t> own;
  for (const Likeness& one : here) own.push_back(one.value);
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(count_));
  gather(ranks, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  if (refused) std::rethrow_exception(refused);
  for (int rank = 0; rank < count_; ++rank) {
    const std::int64_t* const there = all.data() + static_cast<std::size_t>(rank) * own.size();
    if (there[0] != 0)
      fail(op, "ranks", fmt::format("rank {} refuses its arguments", rank),
           "arguments that every rank takes");
    for (std::size_t i = 1; i < own.size(); ++i)
      if (there[i] != all[i])
        fail(op, fmt::format("local.{}", here[i].name),
             fmt::format("another on rank {} than on rank 0", rank), "the same on every rank");
  }
}

std::int64_t Ring::tokens(int rank) const {
  std::int64_t total = 0;
  for (const HeldPart& part : parts(rank)) total += part.size();
  return total;
}

bool Ring::meet(const HeldPart& rows, const HeldPart& keys) const {
  if (rows.size() == 0 || keys.size() == 0) return false;
  const MaskRule* const rule = args_.local.mask.rule();
  if (rule == nullptr) return true;
  const ConstView& q = args_.local.q;
  for (std::int64_t batch = 0; batch < q.dim(0); ++batch)
    for (std::int64_t head = 0; head < q.dim(1); ++head)
      if (rule->tile({.batch = batch, .head = head},
                     {rows.text.begin, rows.text.end, keys.text.begin, keys.text.end}) !=
          TileClass::kEmpty)
        return true;
  return false;
}

AttentionArgs Ring::between(const HeldPart& rows, const HeldPart& keys, const Keys& held) const {
  const AttentionArgs& local = args_.local;
  AttentionArgs part = local;
  part.q = local.q.slice(2, rows.at, rows.at + rows.size());
  part.keys.k = held.k.slice(2, keys.at, keys.at + keys.size());
  part.keys.v = held.v.slice(2, keys.at, keys.at + keys.size());
  part.extents.q_offset = {rows.text.begin};
  part.extents.key_offset = {keys.text.begin};
  part.mask = part_of_mask(local.mask,
                           {.batch = local.q.dim(0),
                            .heads = local.q.dim(1),
                            .query_length = args_.length,
                            .key_length = args_.length},
                           rows.text, keys.text);
  part.scores.bias = part_of_bias(local.scores.bias, rows.text, keys.text);
  part.scores.sink = {};
  return part;
}

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
