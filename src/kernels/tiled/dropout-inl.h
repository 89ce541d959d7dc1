// Which weights of a tile dropout keeps: Philox (Salmon et al. 2011) with one row a lane, all four
// words of a counter for four keys. Included once for each vector width.
#if defined(HEED_TILED_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_DROPOUT_INL_H_
#undef HEED_TILED_DROPOUT_INL_H_
#else
#define HEED_TILED_DROPOUT_INL_H_
#endif

#include "base/philox.h"
#include "kernels/philox-inl.h"
#include "kernels/tiled/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Bit i of kept[j]: row at.row + i keeps key at.key + j.
inline void kept_words(const AttentionProblem& problem, const TilePlace& at, std::uint64_t* kept) {
  const DropoutRule& rule = problem.dropout;
  const Sequence& sequence = problem.sequences[at.batch];
  const PhiloxKey key = philox_key(rule.seed);
  const std::int64_t first = sequence.key_offset + at.key;  // p_j of the tile's first key
  const std::int64_t p_i = sequence.q_offset + at.row;
  const std::int64_t head = (rule.first_row + at.batch) * problem.heads + at.head;
  std::fill_n(kept, at.keys, std::uint64_t{0});
  if (rule.threshold > 0xFFFFFFFFU) return;
  using Tag = hn::ScalableTag<std::uint32_t>;
  const Tag tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const auto threshold = hn::Set(tag, static_cast<std::uint32_t>(rule.threshold));
  for (std::int64_t four = first >> 2; four <= (first + at.keys - 1) >> 2; ++four)
    for (std::int64_t i = 0; i < kRows; i += lanes) {
      PhiloxWords<Tag> words = {hn::Set(tag, static_cast<std::uint32_t>(four)),
                                hn::Iota(tag, static_cast<std::uint32_t>(p_i + i)),
                                hn::Set(tag, static_cast<std::uint32_t>(head)),
                                hn::Set(tag, rule.offset)};
      philox_rounds(tag, key, words);
      const auto keep = [&](hn::Vec<Tag> word, std::int64_t n) HWY_ATTR {
        const std::int64_t j = 4 * four + n - first;
        if (j < 0 || j >= at.keys) return;
        std::uint64_t bits = 0;
        hn::StoreMaskBits(tag, hn::Not(hn::Lt(word, threshold)),
                          reinterpret_cast<std::uint8_t*>(&bits));
        kept[j] |= bits << i;
      };
      keep(words.c0, 0);
      keep(words.c1, 1);
      keep(words.c2, 2);
      keep(words.c3, 3);
    }
}

// Kept elements are scaled, the others become 0, whatever they were.
template <typename T>
void drop(const AttentionProblem& problem, const std::uint64_t* kept, std::int64_t keys,
          const T* from, T* to) {
  const auto scale = static_cast<T>(problem.dropout.scale);
  for (std::int64_t e = 0; e < keys * kRows; ++e) to[e] = from[e] * scale;
  hide(kept, keys, T{0}, to);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_DROPOUT_INL_H_
