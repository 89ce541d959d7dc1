// Which weights of a tile dropout keeps: Philox (Salmon et al. 2011) with one row per lane, and the
// four words of a counter for four keys. Included once for each target.
#if defined(HEED_SWEEP_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_DROPOUT_INL_H
#undef HEED_SWEEP_DROPOUT_INL_H
#else
#define HEED_SWEEP_DROPOUT_INL_H
#endif

#include "attention/sweep/scores-inl.h"
#include "base/philox.h"
#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Sets bit i of kept[j] if row i keeps key j, for lanes [lane, lane + count) and the keys of a
/// patch. Other bits of the words are unchanged.
template <typename T>
void kept_words(const AttentionProblem& problem, const TilePlace& at, const RowLanes<T>& rows,
                const Patch<T>& patch, std::uint64_t* kept) {
  const DropoutRule& rule = problem.dropout;
  const PhiloxKey key = philox_key(rule.seed);
  const std::int64_t offset = problem.sequences[at.batch].key_offset + at.keys.begin;
  const std::int64_t first = offset + patch.key_begin;  // p_j of the first key
  const std::int64_t end = first + patch.keys;
  std::fill_n(kept + patch.key_begin, patch.keys, std::uint64_t{0});
  if (rule.threshold > 0xFFFFFFFFU || patch.keys == 0) return;
  using Words = hn::ScalableTag<std::uint32_t>;
  const Words tag;
  constexpr int kWords = HWY_LANES(std::uint32_t);
  const auto threshold = hn::Set(tag, static_cast<std::uint32_t>(rule.threshold));
  HWY_ALIGN std::uint32_t position[kTileRows];
  for (std::int64_t i = 0; i < kTileRows; ++i)
    position[i] = static_cast<std::uint32_t>(rows.position[i]);
  for (std::int64_t four = first >> 2; four <= (end - 1) >> 2; ++four)
    for (int i = patch.lane; i < patch.lane + patch.lanes(); i += kWords) {
      kernels::HWY_NAMESPACE::PhiloxWords<Words> words = {
          hn::Set(tag, static_cast<std::uint32_t>(four)), hn::LoadU(tag, position + i),
          hn::LoadU(tag, rows.head + i), hn::Set(tag, rule.offset)};
      kernels::HWY_NAMESPACE::philox_rounds(tag, key, words);
      const auto keep = [&](hn::Vec<Words> word, std::int64_t n) HWY_ATTR {
        const std::int64_t j = 4 * four + n;
        if (j < first || j >= end) return;
        std::uint64_t bits = 0;
        hn::StoreMaskBits(tag, hn::Not(hn::Lt(word, threshold)),
                          reinterpret_cast<std::uint8_t*>(&bits));
        kept[j - offset] |= bits << i;
      };
      keep(words.c0, 0);
      keep(words.c1, 1);
      keep(words.c2, 2);
      keep(words.c3, 3);
    }
}

/// Scales kept elements and zeroes the others, whatever they held.
template <typename T>
void drop(const AttentionProblem& problem, const std::uint64_t* kept, const Patch<T>& patch) {
  const auto scale = hn::Set(Tag<T>(), static_cast<T>(problem.dropout.scale));
  for_vectors(patch, [&](Vec<T> p, std::int64_t, int) HWY_ATTR { return hn::Mul(p, scale); });
  hide(kept, T{0}, patch);
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
