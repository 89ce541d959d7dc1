#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "problem.h"

namespace heed::python {
namespace {

// The rule for one sequence of a batch: batch 0 of the problem is `sequence` of the rule.
class OfSequence : public MaskRule {
 public:
  OfSequence(Mask mask, std::int64_t sequence, std::int64_t batch)
      : mask_(std::move(mask)), sequence_(sequence), batch_(batch) {}

  bool visible(const MaskPlace& place, std::int64_t row, std::int64_t key) const override {
    return mask_.rule()->visible(moved(place), row, key);
  }
  TileClass tile(const MaskPlace& place, const MaskTile& tile) const override {
    return mask_.rule()->tile(moved(place), tile);
  }
  void check(const MaskTarget& target) const override {
    MaskTarget whole = target;
    whole.batch = batch_;
    mask_.rule()->check(whole);
  }
  std::string describe() const override { return mask_.describe(); }
  void bits(const MaskPlace& place, const MaskTile& tile, std::uint64_t* by_key) const override {
    mask_.rule()->bits(moved(place), tile, by_key);
  }

 private:
  MaskPlace moved(MaskPlace place) const {
    place.batch += sequence_;
    return place;
  }

  Mask mask_;
  std::int64_t sequence_;
  std::int64_t batch_;
};

void keep_one(std::vector<std::int64_t>& list, std::int64_t sequence) {
  if (list.size() > 1) list = {list[static_cast<std::size_t>(sequence)]};
}

void check(const AttentionArgs& args, std::int64_t sequence) {
  if (args.q.rank() != 4 || args.keys.k.rank() != 4 || args.keys.page_table.given())
    fail({.code = ErrorCode::kUnsupported,
          .op = "session",
          .argument = "sequence",
          .found = "given of packed sequences or of pages",
          .expected = "a batch, [B, H, T, D]"});
  if (sequence < 0 || sequence >= args.q.dim(0))
    fail({.code = ErrorCode::kNotFound,
          .op = "session",
          .argument = "sequence",
          .found = sequence,
          .expected = "0 to " + std::to_string(args.q.dim(0) - 1)});
}

}  // namespace

ConstView one_sequence(const ConstView& array, std::int64_t sequence) {
  return array.given() ? array.slice(0, sequence, sequence + 1) : array;
}

AttentionArgs one_sequence(const AttentionArgs& args, std::int64_t sequence) {
  check(args, sequence);
  AttentionArgs one = args;
  one.q = one_sequence(args.q, sequence);
  for (ConstView Keys::* const array : {&Keys::k, &Keys::v, &Keys::k_scales, &Keys::v_scales})
    one.keys.*array = one_sequence(args.keys.*array, sequence);
  keep_one(one.keys.ring_begin, sequence);
  for (auto Extents::* const list :
       {&Extents::query_length, &Extents::key_begin, &Extents::key_length, &Extents::q_offset,
        &Extents::key_offset})
    keep_one(one.extents.*list, sequence);
  const ConstView& bias = args.scores.bias;
  if (bias.rank() == 4 && bias.dim(0) > 1) one.scores.bias = one_sequence(bias, sequence);
  if (args.mask.rule() != nullptr)
    one.mask = Mask(std::make_shared<OfSequence>(args.mask, sequence, args.q.dim(0)));
  return one;
}

}  // namespace heed::python
