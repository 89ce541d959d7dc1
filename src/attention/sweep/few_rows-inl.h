// Products of a few query rows, as in a decoder's step. Included once for each target.
//
// The lanes of the scores are keys, the lanes of the output are columns of V. With rows in the
// lanes, one row would use only one lane of sixteen. The sums and their order are the same as with
// rows in the lanes.
//
// Keys and values are read in place: 16-bit and i8 numbers are widened in registers.
//
// Lab notes. One row, one thread.
//
// AMD EPYC (Zen 5), 12 heads of 64, microseconds for 250 and for 4,000 keys. AVX-512: 47 and 1,349
// with rows in the lanes, 29 and 742 with keys in the lanes. AVX2: 52 and 2,012, then 33 and 879.
//
// AMD Zen 3 (AVX2), 32 heads over 8, D = 128, best milliseconds, alternating versions:
//
//   change                                        keys     f32           f16           i8
//   keys and values are not copied first          8,192    9.7 -> 8.4    4.9 -> 4.5
//   keys are transposed to memory                 8,192                  4.4 -> 3.8    5.6 -> 3.7
//                                                 2,048    2.0 -> 1.2    .82 -> .68
//   the next columns are transposed while these
//   are multiplied, 16-bit numbers before they
//   are widened; sums are stored by shuffles        512                  .183 -> .160
//
// On a day when the memory gave half of that, medians of versions in turns:
//
//   rows are prefetched in the order of their
//   addresses, not by columns                     8,192   13.8 -> 8.9    6.9 -> 5.4
//   values during scores, the next keys during
//   P V; both halves of a tile side by side       8,192    8.9 -> 6.5    5.4 -> 4.2
//
//   32 heads over 4: eight rows on this path      512      .332 -> .310  .374 -> .281
//                                                 8,192    23 -> 9.1     9.5 -> 6.7
//   8 heads over 8, D = 64: four vectors of keys
//   for the only row                              1,024                  .182 -> .116
//
//   pages of 16 keys are read in place, too       8,192   13.0 -> 8.8    10.0 -> 7.4
//   (one row of 64 columns in f32: 10 % more,
//   since it has two chains of sums, not four)
//
// AMD EPYC (Zen 4), AVX-512, 32 heads over 8, D = 128, 8,192 keys, GB/s beside other work (reading
// gives 33):
//
//   change                                               f32            f16            i8
//   of the transposed keys only the columns that
//   are multiplied and the next ones are kept; eight
//   columns of 32-bit words at once; each product
//   prefetches what it needs for the next tile           13.6 -> 17.5   9.8 -> 12.8   6.7 -> 6.9
//
//   one permutation per word instead of two; four
//   vectors of 16-bit and i8 keys; the next columns
//   are transposed between the products with these,
//   none twice; i8 stays in bytes until it is
//   multiplied; strided rows are prefetched in order
//   (one thread; f16 also: scores of keys in the L2
//   cache 17.6 -> 14.3 ns per key, a prototype 12.9)                12.6 -> 13.5   6.9 -> 7.7
//   the same of bf16, whose columns are separated
//   where they are multiplied                                       12.8 -> 14.5
//
// Queries and keys in bf16, whose words of two columns are multiplied in pairs, neither separated
// nor widened, GB/s: 1,024 keys 14.2 -> 17.5, 8,192 keys 13.6 -> 16; of eight rows 9.2 -> 12.4 and
// 9.0 -> 12.
//
// A prototype of the same form reaches 21 for f32: in the L3 cache it is 37, and software
// prefetches of any kind end at 23, wherever they are placed and however far ahead. Reading values
// row by row, which the hardware prefetches, takes 27 to 33 alone, but in turns with the keys 20:
// 21 if 16 tiles of keys, which reach 22 alone, are followed by 16 of values. Keeping all columns
// of 32 keys in memory halves the rate of the scores.
//
// The time of 32 heads over 8 for 512 keys in f16 is 52 of 100 GFLOP/s. The scores take half of it,
// where the four vector ports are busy for 32 of 56 cycles per key with products, shuffles and
// conversions, and P V a quarter, close to its limit. With the columns of one key in the lanes
// nothing would be transposed, but then the sums would have another order than in the passes that
// recompute scores.
//
// No gain from: prefetching all rows of a tile at once (more lines than the core can have in
// flight), four ranges of a tile side by side (two are 5 to 10 % better), the L1 cache, four
// vectors of keys for two rows with AVX2, and of f32 with AVX-512 (2 to 4 % slower from memory);
// with AVX-512 products as inline assembly, pointers that step from row to row.
#if defined(HEED_SWEEP_FEW_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_FEW_ROWS_INL_H
#undef HEED_SWEEP_FEW_ROWS_INL_H
#else
#define HEED_SWEEP_FEW_ROWS_INL_H
#endif

#include <algorithm>
#include <array>
#include <type_traits>

#include "attention/sweep/keys-inl.h"
#include "attention/sweep/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// The most rows of a tile that count as few; all are in the first vector of a strip.
constexpr int kMostFewRows = HWY_TARGET == HWY_SCALAR ? 0 : std::min(8, kLanes<float>);

/// The most runs in which a tile of K or V is read in place.
constexpr int kMostRuns = 4;
/// Bytes of a row that is read in place, at least.
constexpr std::int64_t kLeastRow = HWY_TARGET == HWY_AVX3 ? 32 : 16;

/// The rows of a tile of keys or values where they lie, in their stored type.
struct StoredRows {
  struct Run {  // not initialised
    const char* data;
    const float* scales;
    std::int64_t keys;
  };
  DType dtype = DType::kF32;
  std::int64_t row = 0;  // elements from one row to the next
  Scales scales = {};    // the strides of those of i8
  int count = 0;         // of runs; 0: the rows cannot be read in place
  Run runs[kMostRuns];

  template <typename Row>
  const Row* rows(int run) const {
    return reinterpret_cast<const Row*>(runs[run].data);
  }
  Scales scales_of(int run) const { return {runs[run].scales, scales.row, scales.column}; }
};

/// Calls `use` with a null pointer of the rows' type.
template <class Use>
inline void with_rows(const StoredRows& stored, const Use& use) {
  if (stored.dtype == DType::kI8) return use(static_cast<const std::int8_t*>(nullptr));
  with_type(stored.dtype,
            [&]<typename Row>(Row*) HWY_ATTR { use(static_cast<const Row*>(nullptr)); });
}

/// Finds the rows of a span if products of a few rows can read them: in up to kMostRuns runs of at
/// least `least` keys, with contiguous columns, their number a multiple of `columns`, and their
/// size of 16 bytes. Else `stored` has no runs. Out of line: the copies made the library larger.
HWY_NOINLINE inline void find_rows(const AttentionProblem& problem, const KeyOperand& from,
                                   KeySpan span, std::int64_t columns, std::int64_t least,
                                   StoredRows& stored) {
  const Input& values = from.values;
  const auto bytes = static_cast<std::int64_t>(size_bytes(values.dtype));
  columns = std::max(columns, 16 / bytes);
  stored.count = 0;
  if (values.dtype == DType::kF64 || values.column != 1 ||
      falls_on_few_sets(values, from.columns) || from.columns % columns != 0 ||
      from.columns * bytes < kLeastRow)
    return;
  stored.dtype = values.dtype;
  stored.row = values.row;
  if (values.dtype == DType::kI8) stored.scales = {nullptr, from.scales.row, from.scales.column};
  int count = 0;
  while (span.count > 0) {
    const KeyRun run = first_run(problem, span);
    if (run.count < least || count == kMostRuns) return;
    StoredRows::Run& to = stored.runs[count++];
    to.data = static_cast<const char*>(values.data) + run.offset(values, span.kv_head) * bytes;
    to.keys = run.count;
    to.scales = nullptr;
    if (values.dtype == DType::kI8)
      to.scales =
          static_cast<const float*>(from.scales.data) + run.offset(from.scales, span.kv_head);
    span.begin += run.count;
    span.count -= run.count;
  }
  stored.count = count;
}

/// Whether products with keys prefetch the next tile's keys, and those with values its values; else
/// products with keys prefetch values, and those with values the next keys.
constexpr bool kPrefetchesOwn = HWY_TARGET == HWY_AVX3;

/// Rows of one run, prefetched to the L2 cache between products: with kPrefetchesOwn line by line,
/// else two lines side by side, of both halves, each in the order of its addresses.
class RowsAhead {
 public:
  RowsAhead() = default;
  /// `keys` rows of `bytes` each, `row` bytes apart, from `rows` on. Past the last key of all the
  /// addresses are invalid, which a prefetch permits.
  RowsAhead(const char* rows, std::int64_t keys, std::int64_t bytes, std::int64_t row)
      : rows_(rows),
        other_(keys / 2 * row),
        lines_(row == bytes ? kEndless : (bytes + kLine - 1) / kLine),
        next_row_(row - kLine * lines_),
        left_(lines_) {}
  template <int kLines>
  HWY_INLINE void fetch() {
    if (!kPrefetchesOwn && kLines % 2 == 0 && lines_ == kEndless) {
#pragma GCC unroll 16
      for (int i = 0; i < kLines / 2; ++i, offset_ += kLine) {
        __builtin_prefetch(rows_ + offset_, 0, 2);
        __builtin_prefetch(rows_ + offset_ + other_, 0, 2);
      }
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i) {
      if (kPrefetchesOwn) {
        __builtin_prefetch(rows_ + offset_, 0, 2);
      } else {
        __builtin_prefetch(rows_ + fetched_ % 2 * other_ + offset_, 0, 2);
        if (fetched_++ % 2 == 0) continue;
      }
      offset_ += kLine;
      if (--left_ > 0) continue;
      offset_ += next_row_;
      left_ = lines_;
    }
  }
  /// Goes on where a copy of this stopped; the rest of them is equal.
  HWY_INLINE void go_on(const RowsAhead& copy) {
    fetched_ = copy.fetched_;
    offset_ = copy.offset_;
    left_ = copy.left_;
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kEndless = std::int64_t{1} << 48;
  static constexpr char kNothing[kLine] = {};
  const char* rows_ = kNothing;
  std::int64_t other_ = 0;          // bytes from a line to the one that is prefetched beside it
  std::int64_t lines_ = 1;          // per row
  std::int64_t next_row_ = -kLine;  // bytes from the end of a row's lines to the next row
  std::uint64_t fetched_ = 0;       // lines
  std::int64_t offset_ = 0;         // bytes to the line that is next in the first half
  std::int64_t left_ = 1;           // lines of its row
};

/// A product with the keys or values of a tile: the factors of each run, its keys, and the rows to
/// prefetch meanwhile.
template <typename A, typename B>
struct FactorRuns {
  // Unions, so that entries past `count` are not initialised: that took 2 % of a tile's time.
  union {
    Factors<A, B> runs[kMostRuns];
  };
  union {
    RowsAhead ahead[kMostRuns];
  };
  std::int64_t keys[kMostRuns];
  int count = 0;

  FactorRuns() {}  // NOLINT(modernize-use-equals-default): a union deletes the default
  FactorRuns(const Factors<A, B>& only, std::int64_t its_keys) { add(only, its_keys); }

  void add(const Factors<A, B>& run, std::int64_t its_keys) {
    runs[count] = run;
    ahead[count] = {};
    keys[count++] = its_keys;
  }
  /// The product will prefetch `rows`, from `keys_later` keys after them: for every run as many
  /// keys as it has.
  HWY_NOINLINE void prefetch(const StoredRows& rows, std::int64_t columns,
                             std::int64_t keys_later) {
    const auto size = static_cast<std::int64_t>(size_bytes(rows.dtype));
    const std::int64_t row = rows.row * size;
    for (int i = 0; i < std::min(count, rows.count); ++i)
      ahead[i] = {rows.runs[i].data + keys_later * row, keys[i], columns * size, row};
  }
};

#if HWY_TARGET != HWY_SCALAR
/// Two columns of a key in bf16, which MultiplyPairs multiplies at once. Products with such keys
/// count pairs of columns, and their queries are pairs, too.
struct KeyPair {
  std::uint16_t columns[2];
};

/// Keys that are transposed at once.
constexpr int kKeysAtOnce = (HWY_TARGET == HWY_AVX3 ? 1 : 2) * kLanes<float>;
/// The least keys of a run.
constexpr int kLeastKeys = 2 * kLanes<float>;

/// Words of 32 bits of each key that are transposed at once.
constexpr int kWordsAtOnce = HWY_TARGET == HWY_AVX3 ? 8 : 4;
/// Columns of the keys that are transposed at once.
template <typename Key>
constexpr std::int64_t kColumnsAtOnce = kWordsAtOnce * 4 / sizeof(Key);
/// The columns of a row are a multiple of this.
template <typename Key>
constexpr std::int64_t kLeastColumns = 16 / sizeof(Key);
/// Transposed keys. With AVX-512 they keep their bits, else i8 becomes f32.
template <typename Key>
using Transposed = std::conditional_t<
    sizeof(Key) == 2, std::uint16_t,
    std::conditional_t<sizeof(Key) == 1 && HWY_TARGET == HWY_AVX3, std::int8_t, float>>;

/// Scales of kKeysAtOnce keys for kGroups groups of columns: [group][key].
struct KeyScales {
  static constexpr int kGroups = 4;
  alignas(64) float of[kGroups * kKeysAtOnce];

  // Inlined wherever keys are transposed, it made the kernels of i8 up to 50 KB long.
  HWY_NOINLINE void read(const Scales& from, std::int64_t key, std::int64_t group,
                         std::int64_t groups) {
    const Tag<float> d;
    const float* const first = from.data + key * from.row + group * from.column;
    if (from.column != 1 || groups < kGroups) {
      for (std::int64_t g = 0; g < std::min<std::int64_t>(groups, kGroups); ++g)
        for (int i = 0; i < kKeysAtOnce; ++i)
          of[g * kKeysAtOnce + i] = first[i * from.row + g * from.column];
      return;
    }
    for (int v = 0; v < kKeysAtOnce; v += kLanes<float>) {
      Vec<float> columns[kGroups];
      load_columns(d, first + v * from.row, from.row, columns);
      for (int g = 0; g < kGroups; ++g) hn::Store(columns[g], d, of + g * kKeysAtOnce + v);
    }
  }
  /// The scales of column `x` of keys from `first` on: x goes up from 0 for the same keys.
  HWY_INLINE const float* at(const Factors<std::int8_t, float>& p, std::int64_t first,
                             std::int64_t x) {
    const std::int64_t group = x / kElementsPerScale;
    if (x % (kGroups * kElementsPerScale) == 0)
      read(p.scales, first, group, (p.depth + kElementsPerScale - 1) / kElementsPerScale - group);
    return of + group % kGroups * kKeysAtOnce;
  }
};

#if HWY_TARGET == HWY_AVX3
/// Columns of a key in one word of 32 bits.
template <typename Key>
constexpr std::int64_t kPerWord = 4 / sizeof(Transposed<Key>);

/// The last step of a transposition: from words j and 4 + j of keys 0 to 3 and 8 to 11, and of keys
/// 4 to 7 and 12 to 15, to word j or 4 + j of all keys. The columns of f16 are separated, those of
/// i8 are in words of four keys before and are separated, and those of a pair change places.
template <typename Key>
struct OrderOfWords {
  static constexpr bool kBy16 = std::is_same_v<Key, f16> || std::is_same_v<Key, KeyPair>;
  using Index = std::conditional_t<kBy16, std::uint16_t, std::uint32_t>;
  static constexpr int kParts = 4 / sizeof(Index);  // of a word
  static constexpr int kCount = 64 / sizeof(Index);

  alignas(64) static constexpr auto kIndices = [] {
    std::array<std::array<Index, kCount>, 2> indices{};
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < kCount; ++i) {
        int key = i / kParts;
        int part = i % kParts;
        if (std::is_same_v<Key, f16>) {
          key = i % 16;
          part = i / 16;
        } else if (std::is_same_v<Key, KeyPair>) {
          part = 1 - part;
        } else if (std::is_same_v<Key, std::int8_t>) {
          key = i % 4 * 4 + i / 4;
        }
        const int block = key / 4;
        const int word = (block / 2 * 2 + half) * 4 + key % 4;
        indices[half][i] = static_cast<Index>(block % 2 * kCount + word * kParts + part);
      }
    return indices;
  }();

  static HWY_INLINE __m512i of(Vec<float> low, Vec<float> high, int half) {
    const __m512i a = _mm512_castps_si512(low.raw);
    const __m512i b = _mm512_castps_si512(high.raw);
    const __m512i indices = _mm512_load_si512(kIndices[half].data());
    if constexpr (kBy16)
      return _mm512_permutex2var_epi16(a, indices, b);
    else
      return _mm512_permutex2var_epi32(a, indices, b);
  }
};

/// Columns [x, x + kColumnsAtOnce) of kKeysAtOnce keys from `first` on. Column c of key i is at
/// to[c / kPerWord * kStep + c % kPerWord * kKeysAtOnce + i]; of bf16, word w of key i is at
/// to[w * kStep + 2 * i].
template <int kStep, typename Key>
HWY_INLINE void transpose_keys(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                               Transposed<Key>* to) {
  const Tag<float> d;
  const hn::Half<Tag<float>> half;
  const auto load = [&](const char* row)
                        HWY_ATTR { return hn::LoadU(half, reinterpret_cast<const float*>(row)); };
  const std::int64_t row = p.a_row * static_cast<std::int64_t>(sizeof(Key));
  const char* low = reinterpret_cast<const char*>(p.a + first * p.a_row + x);
  const char* high = low + 8 * row;
  Vec<float> four[2][4];  // of keys 4 g to 4 g + 3 and 8 + 4 g to 8 + 4 g + 3
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g, low += 4 * row, high += 4 * row) {
    hide_origin(low);
    hide_origin(high);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      four[g][i] = hn::Combine(d, load(high + i * row), load(low + i * row));
    transpose_blocks(d, four[g]);
    if constexpr (std::is_same_v<Key, std::int8_t>) {
      const hn::Repartition<std::int8_t, Tag<float>> bytes;
      alignas(16) static constexpr std::int8_t kOfFour[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                              2, 6, 10, 14, 3, 7, 11, 15};
      const auto order = hn::LoadDup128(bytes, kOfFour);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        four[g][i] = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, four[g][i]), order));
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    _mm512_store_si512(to + i * kStep,
                       OrderOfWords<Key>::of(four[0][i % 4], four[1][i % 4], i / 4));
}

/// Column kColumn % kPerWord of the word at `word`, of kKeysAtOnce keys.
template <int kColumn, typename Key>
HWY_INLINE Vec<float> load_transposed(const Transposed<Key>* word) {
  const Tag<float> d;
  constexpr int kAt = kColumn % kPerWord<Key>;
  if constexpr (std::is_same_v<Key, bf16>) {
    const hn::RebindToUnsigned<Tag<float>> words;
    const auto pair = hn::Load(words, reinterpret_cast<const std::uint32_t*>(word));
    if constexpr (kAt == 0)
      return hn::BitCast(d, hn::ShiftLeft<16>(pair));
    else
      return hn::BitCast(d, hn::And(pair, hn::Set(words, 0xFFFF0000u)));
  } else if constexpr (sizeof(Key) == 4) {
    return hn::Load(d, word);
  } else {
    return kernels::HWY_NAMESPACE::load_lanes(
        reinterpret_cast<const Key*>(word + kAt * kKeysAtOnce));
  }
}
#else
template <typename Key>
constexpr std::int64_t kPerWord = 1;

/// Columns [x, x + kColumnsAtOnce) of kKeysAtOnce keys from `first` on: to[column * kStep + key].
template <int kStep, typename Key>
  requires(sizeof(Key) == 4)
HWY_INLINE void transpose_keys(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                               float* to) {
  const Tag<float> d;
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    Vec<float> columns[4];
    load_columns(d, p.a + (first + g * kLanes<float>)*p.a_row + x, p.a_row, columns);
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) hn::Store(columns[u], d, to + u * kStep + g * kLanes<float>);
  }
}

/// The same for 16 bits: 8 x 8 numbers per 128 bits, block b of vector i holds key i + 8 b.
template <int kStep, typename Key>
  requires(sizeof(Key) == 2)
HWY_INLINE void transpose_keys(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                               std::uint16_t* to) {
  const hn::Repartition<std::uint16_t, Tag<float>> ones;
  const hn::Repartition<std::uint32_t, Tag<float>> pairs;
  const hn::Repartition<std::uint64_t, Tag<float>> fours;
  const auto* rows = reinterpret_cast<const std::int8_t*>(p.a + first * p.a_row + x);
  const std::int64_t row = p.a_row * static_cast<std::int64_t>(sizeof(Key));
  // Keys 2 i and 2 i + 1: columns 0 to 3 in two[i], 4 to 7 in two[4 + i].
  hn::Vec<decltype(pairs)> two[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto even = hn::BitCast(ones, load_blocks(Tag<float>(), rows + 2 * i * row, 8 * row));
    const auto odd =
        hn::BitCast(ones, load_blocks(Tag<float>(), rows + (2 * i + 1) * row, 8 * row));
    two[i] = hn::BitCast(pairs, hn::InterleaveLower(ones, even, odd));
    two[4 + i] = hn::BitCast(pairs, hn::InterleaveUpper(ones, even, odd));
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {  // columns 0 to 3, then 4 to 7
    const auto* const t = two + 4 * half;
    auto* const at = reinterpret_cast<std::uint64_t*>(to + 4 * half * kStep);
    constexpr int kFours = kStep / 4;
    const auto low01 = hn::BitCast(fours, hn::InterleaveLower(pairs, t[0], t[1]));
    const auto low23 = hn::BitCast(fours, hn::InterleaveUpper(pairs, t[0], t[1]));
    const auto high01 = hn::BitCast(fours, hn::InterleaveLower(pairs, t[2], t[3]));
    const auto high23 = hn::BitCast(fours, hn::InterleaveUpper(pairs, t[2], t[3]));
    hn::Store(hn::InterleaveLower(fours, low01, high01), fours, at);
    hn::Store(hn::InterleaveUpper(fours, low01, high01), fours, at + kFours);
    hn::Store(hn::InterleaveLower(fours, low23, high23), fours, at + 2 * kFours);
    hn::Store(hn::InterleaveUpper(fours, low23, high23), fours, at + 3 * kFours);
  }
}

/// The same for i8, times `scales` of the keys: a word of four columns is transposed like a float,
/// and shifts split it into four vectors of integers.
template <int kStep>
HWY_NOINLINE void transpose_keys(const Factors<std::int8_t, float>& p, std::int64_t first,
                                 std::int64_t x, const float* scales, float* to) {
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> integers;
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    const auto scale = hn::Load(d, scales + g * kLanes<float>);
    Vec<float> words[4];
    load_columns(d, p.a + (first + g * kLanes<float>)*p.a_row + x, p.a_row, words);
#pragma GCC unroll 4
    for (int word = 0; word < 4; ++word) {
      const auto four = hn::BitCast(integers, words[word]);
      const Vec<float> columns[4] = {hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<24>(four))),
                                     hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<16>(four))),
                                     hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<8>(four))),
                                     hn::ConvertTo(d, hn::ShiftRight<24>(four))};
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u)
        hn::Store(hn::Mul(columns[u], scale), d, to + (4 * word + u) * kStep + g * kLanes<float>);
    }
  }
}

template <int kColumn, typename Key>
HWY_INLINE Vec<float> load_transposed(const Transposed<Key>* column) {
  if constexpr (sizeof(Key) == 2)
    return kernels::HWY_NAMESPACE::load_lanes(reinterpret_cast<const Key*>(column));
  else
    return hn::Load(Tag<float>(), column);
}
#endif

/// Sums of up to four rows to scores[key][stride].
template <int kVectors, int kRows>
HWY_INLINE void store_scores(const Vec<float> (&sums)[kVectors][kRows], float* scores,
                             std::int64_t stride) {
  const Tag<float> d;
  for (int g = 0; g < kVectors; ++g, scores += kLanes<float> * stride) {
    Vec<float> rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = i < kRows ? sums[g][i % kRows] : hn::Zero(d);
    transpose_blocks(d, rows);
    for (int i = 0; i < 4; ++i) store_blocks(rows[i], scores + i * stride, 4 * stride);
  }
}

/// Scores of kKeys keys for the queries of `p`; scores[key][stride] is 0 in lanes without a row.
/// The next columns are transposed between the products with these: shuffles have ports of their
/// own.
template <int kRows, int kVectors, typename Key>
struct ScoresOfKeys {
  static constexpr int kKeys = kVectors * kLanes<float>;
  static constexpr int kPasses = (kRows + 3) / 4;
  static constexpr int kPassRows = kRows / kPasses;
  static constexpr std::int64_t kColumns = kColumnsAtOnce<Key>;
  static constexpr std::int64_t kLeast = kLeastColumns<Key>;
  static constexpr int kParts = kKeys / kKeysAtOnce;  // that are transposed one after the other
  // Rows after the fourth take the transposed keys from memory if registers do not hold all sums.
  static constexpr bool kKept = kPasses > 1 &&
                                (HWY_TARGET != HWY_AVX3 || kPasses * kVectors * kPassRows > 16);
  static constexpr std::int64_t kPart = 256 / kVectors;  // columns of a pass if they are kept
  static constexpr std::uint64_t kSteps = kKept ? kPart / kColumns + 1 : 2;
  static constexpr int kLines = kKeys * kColumns * sizeof(Key) / 64 / kPasses / kParts;
  static constexpr bool kHasScales = std::is_same_v<Key, std::int8_t>;
  static constexpr bool kScalesLater = kHasScales && HWY_TARGET == HWY_AVX3;
  static constexpr std::int64_t kQueryRow = kLanes<float>;  // queries are [column][lane]
  using Sums = Vec<float>[kVectors][kPassRows];

  /// The transposed columns of a step: [word][vector of keys][column of the word][key].
  struct Step {
    alignas(64) Transposed<Key> columns[kColumns * kKeys];
    alignas(64) float scales[kScalesLater ? kKeys : 1];
  };
  Step steps[kSteps];
  std::conditional_t<kHasScales, KeyScales, Nothing> scales[kParts];

  Step& at(std::int64_t number) { return steps[static_cast<std::uint64_t>(number) % kSteps]; }

  // Columns [x, x + kColumns), at the end those before it: they repeat some.
  template <int kPartNumber>
  HWY_INLINE void transpose(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                            Step& to) {
    constexpr int kStep = kPerWord<Key> * kKeys;
    first += kPartNumber * kKeysAtOnce;
    Transposed<Key>* const columns = to.columns + kPartNumber * kKeysAtOnce * kPerWord<Key>;
    const std::int64_t from = std::min(x, p.depth - kColumns);
    if constexpr (kHasScales) {
      const float* const of = scales[kPartNumber].at(p, first, x);
      if constexpr (kScalesLater)
        std::copy_n(of, kKeysAtOnce, to.scales + kPartNumber * kKeysAtOnce);
      else
        return transpose_keys<kStep>(p, first, from, of, columns);
    }
    if constexpr (!kHasScales || kScalesLater) transpose_keys<kStep>(p, first, from, columns);
  }

  // sums += keys[column][key] queries[column][row] over columns [kFirst, kEnd) of a step.
  template <std::int64_t kFirst, std::int64_t kEnd>
  static HWY_INLINE void add_columns(const Transposed<Key>* keys, const float* scales,
                                     const float* queries, Sums& sums) {
    if constexpr (kFirst < kEnd) {
      const Tag<float> d;
      Vec<float> key[kVectors];
#pragma GCC unroll 4
      for (int g = 0; g < kVectors; ++g) {
        constexpr std::int64_t kWord = kFirst / kPerWord<Key>;
        key[g] = load_transposed<kFirst, Key>(keys + (kWord * kVectors + g) * kPerWord<Key> *
                                                         kLanes<float>);
        if constexpr (kScalesLater)
          key[g] = hn::Mul(key[g], hn::Load(d, scales + g * kLanes<float>));
      }
#pragma GCC unroll 4
      for (int i = 0; i < kPassRows; ++i) {
        const auto query = hn::Set(d, queries[i]);
#pragma GCC unroll 4
        for (int g = 0; g < kVectors; ++g) {
          if constexpr (std::is_same_v<Key, KeyPair>)
            sums[g][i] = MultiplyPairs()(key[g], query, sums[g][i]);
          else
            sums[g][i] = add_product(key[g], query, sums[g][i]);
        }
      }
      add_columns<kFirst + 1, kEnd>(keys, scales, queries + kQueryRow, sums);
    }
  }
  // Those of part kPartNumber on. If there is a step `to`, that part of it is transposed: column
  // `x` of the keys from `first` on.
  template <int kPartNumber>
  HWY_INLINE void add_parts(const Factors<Key, float>& p, const Step& from, const float* queries,
                            Sums& sums, RowsAhead& ahead, std::int64_t first = 0,
                            std::int64_t x = 0, Step* to = nullptr) {
    if constexpr (kPartNumber < kParts) {
      constexpr std::int64_t kCount = kColumns / kParts;
      ahead.fetch<kLines>();
      if (to != nullptr) transpose<kPartNumber>(p, first, x, *to);
      add_columns<kPartNumber * kCount, (kPartNumber + 1) * kCount>(from.columns, from.scales,
                                                                    queries, sums);
      add_parts<kPartNumber + 1>(p, from, queries + kCount * kQueryRow, sums, ahead, first, x, to);
    }
  }

  template <int kPartNumber>
  HWY_NOINLINE void transpose_all(const Factors<Key, float>& p, std::int64_t first, std::int64_t x,
                                  Step& to) {
    if constexpr (kPartNumber < kParts) {
      transpose<kPartNumber>(p, first, x, to);
      transpose_all<kPartNumber + 1>(p, first, x, to);
    }
  }

  HWY_INLINE void operator()(const Factors<Key, float>& p, std::int64_t first, float* scores,
                             std::int64_t stride, RowsAhead& ahead) {
    const Tag<float> d;
    Sums sums[kPasses];
#pragma GCC unroll 16
    for (int i = 0; i < kPasses * kVectors * kPassRows; ++i)
      sums[i / kPassRows / kVectors][i / kPassRows % kVectors][i % kPassRows] = hn::Zero(d);
    const auto queries_of = [&](std::int64_t x, int pass) {
      return p.b + x * kQueryRow + pass * kPassRows;
    };
    transpose_all<0>(p, first, 0, steps[0]);
    const std::int64_t whole = p.depth - p.depth % kColumns;
    const std::int64_t part = kKept ? kPart : whole;
    std::int64_t step = 0;
    for (std::int64_t begin = 0; begin < whole; begin += part) {
      const std::int64_t end = std::min(begin + part, whole);
      const std::int64_t kept = step;
      for (std::int64_t x = begin; x < end; x += kColumns, ++step) {
        const std::int64_t next = x + kColumns;
        Step* const to = next < p.depth ? &at(step + 1) : nullptr;
        Step* from = &at(step);
        hide_origin(from);  // g++ would keep the stored columns in registers, too
        add_parts<0>(p, *from, queries_of(x, 0), sums[0], ahead, first, next, to);
#pragma GCC unroll 2
        for (int pass = 1; !kKept && pass < kPasses; ++pass)
          add_parts<0>(p, *from, queries_of(x, pass), sums[pass], ahead);
      }
#pragma GCC unroll 2
      for (int pass = 1; kKept && pass < kPasses; ++pass)
        for (std::int64_t x = begin; x < end; x += kColumns)
          add_parts<0>(p, at(kept + (x - begin) / kColumns), queries_of(x, pass), sums[pass],
                       ahead);
    }
    if (kColumns > kLeast && whole < p.depth) {  // the last columns of a step remain
      const Step* from = &at(step);
      hide_origin(from);
#pragma GCC unroll 2
      for (int pass = 0; pass < kPasses; ++pass) {
        ahead.fetch<kLines * kParts / 2>();
        add_columns<kColumns - kLeast, kColumns>(from->columns, from->scales,
                                                 queries_of(whole, pass), sums[pass]);
      }
    }
    for (int key = 0; key < kKeys; ++key) hn::Store(hn::Zero(d), d, scores + key * stride);
#pragma GCC unroll 2
    for (int pass = 0; pass < kPasses; ++pass)
      store_scores(sums[pass], scores + pass * kPassRows, stride);
  }
};

template <int kRows, int kVectors, typename Key>
HWY_NOINLINE void scores_of_rows(const FactorRuns<Key, float>& p, float* scores,
                                 std::int64_t stride) {
  ScoresOfKeys<kRows, kVectors, Key> scores_of;
  constexpr std::int64_t kKeys = ScoresOfKeys<kRows, kVectors, Key>::kKeys;
  for (int i = 0; i < p.count; ++i) {
    RowsAhead ahead = p.ahead[i];
    const std::int64_t keys = p.keys[i];
    for (std::int64_t j = 0; j < keys; j += kKeys) {
      const std::int64_t from = std::min(j, keys - kKeys);  // the last block repeats some keys
      scores_of(p.runs[i], from, scores + from * stride, stride, ahead);
    }
    scores += keys * stride;
  }
}
#endif

/// S^T = K Q^T of `rows` <= kMostFewRows rows in a strip of one vector; false if it does not
/// support the shape.
template <typename Key, typename T>
bool scores_of_few_rows([[maybe_unused]] int rows, [[maybe_unused]] const FactorRuns<Key, T>& p,
                        [[maybe_unused]] T* scores, [[maybe_unused]] std::int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const std::int64_t least = *std::min_element(p.keys, p.keys + p.count);
    const std::int64_t depth = p.runs[0].depth;
    if (p.runs[0].b_row != kLanes<float> || least < kLeastKeys || depth % kLeastColumns<Key> != 0 ||
        depth < kColumnsAtOnce<Key>)
      return false;
    // One row needs more vectors for as many sums at once; with 32 registers four rows have them.
    constexpr bool kMany = HWY_TARGET == HWY_AVX3 && sizeof(Key) < 4;
    const bool many = least >= 4 * kLanes<float>;
    if (rows == 1 && many)
      scores_of_rows<1, 4>(p, scores, stride);
    else if (kMany && rows <= 2 && many)
      scores_of_rows<2, kMany ? 4 : 2>(p, scores, stride);
    else if (kMany && rows <= 4 && many)
      scores_of_rows<4, kMany ? 4 : 2>(p, scores, stride);
    else if (kMany && many)
      scores_of_rows<8, kMany ? 4 : 2>(p, scores, stride);
    else if (!kMany && rows <= 2)
      scores_of_rows<2, 2>(p, scores, stride);
    else if (rows <= 4)
      scores_of_rows<4, 2>(p, scores, stride);
    else
      scores_of_rows<8, 2>(p, scores, stride);
    return true;
  }
#endif
  return false;
}

/// Lines of keys per `kKeys` keys of kWide vectors of values, so that products with the values of a
/// tile fetch as many keys.
template <typename Value, int kWide, int kKeys>
constexpr int kLinesOf = std::max<int>(1, kWide* HWY_LANES(float) * kKeys * sizeof(Value) / 64);

/// The sums over all runs.
template <int kRows, int kVectors, Layout kLayout, class Term, typename T, typename Value>
HWY_INLINE void sum_terms(FactorRuns<T, Value>& p, Vec<T> (&sums)[kRows][kVectors]) {
  clear_sums<kRows, kVectors, T>(sums);
  for (int i = 0; i < p.count; ++i) {
    RowsAhead ahead = p.ahead[i];
    add_all_terms<kRows, kVectors, kLayout, Term, T>(
        p.runs[i], sums, [&]() HWY_ATTR { ahead.template fetch<kLinesOf<Value, kVectors, 4>>(); });
    p.ahead[i].go_on(ahead);
  }
}

/// kRows rows of out, with enough sums to hide the latency. Changes `p`.
template <int kRows, typename T, typename Value>
void add_values_of(FactorRuns<T, Value>& p, std::int64_t columns, const T* factor, T* out,
                   std::int64_t stride) {
  constexpr int kWide = 8 / kRows;
  constexpr int kStep = kWide * kLanes<T>;
  const auto advance = [&](std::int64_t by) {
    for (int i = 0; i < p.count; ++i) p.runs[i].b += by;
  };
  std::int64_t x = 0;
  for (; x + kStep <= columns; x += kStep, advance(kStep))
    add_scaled_product<kRows, kWide, Layout{Left::kByDepth}, Scaled::kByRow, Multiply>(
        p, factor, out + x, stride);
  for (; x < columns; x += kLanes<T>, advance(kLanes<T>))
    add_scaled_product<kRows, 1, Layout{Left::kByDepth}, Scaled::kByRow, Multiply>(p, factor,
                                                                                   out + x, stride);
}

/// The same for V in i8.
template <int kRows, int kWide>
HWY_INLINE void add_scaled_values(FactorRuns<float, std::int8_t>& p, std::int64_t x,
                                  const float* factor, float* out, std::int64_t stride) {
  constexpr int kKeys = std::max(4, 64 / (kWide * kLanes<float>));
  constexpr int kLines = kLinesOf<std::int8_t, kWide, kKeys>;
  constexpr int kPerScale = kElementsPerScale / kLanes<float>;  // vectors
  const Tag<float> d;
  Vec<float> sums[kRows][kWide];
  clear_sums<kRows, kWide, float>(sums);
  for (int i = 0; i < p.count; ++i) {
    const Factors<float, std::int8_t>& run = p.runs[i];
    RowsAhead ahead = p.ahead[i];
    const std::int8_t* value = run.b + x;
    const float* weights = run.a;
    const float* scales = run.scales.data + x / kElementsPerScale * run.scales.column;
    for (std::int64_t key = 0; key < run.depth; ++key) {
      if (key % kKeys == 0) ahead.fetch<kLines>();
      Vec<float> line[kWide];
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v)
        line[v] = hn::Mul(kernels::HWY_NAMESPACE::load_lanes(value + v * kLanes<float>),
                          hn::Set(d, scales[v / kPerScale * run.scales.column]));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto weight = hn::Set(d, weights[r]);
#pragma GCC unroll 8
        for (int v = 0; v < kWide; ++v) sums[r][v] = add_product(weight, line[v], sums[r][v]);
      }
      value += run.b_row;
      weights += run.a_row;
      scales += run.scales.row;
    }
    p.ahead[i].go_on(ahead);
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kWide; ++v) {
      float* const to = out + r * stride + x + v * kLanes<float>;
      hn::Store(hn::MulAdd(hn::Load(d, to), hn::Set(d, factor[r]), sums[r][v]), d, to);
    }
}

template <int kRows>
void add_values_of(FactorRuns<float, std::int8_t>& p, std::int64_t columns, const float* factor,
                   float* out, std::int64_t stride) {
  constexpr int kWide = 8 / kRows;
  constexpr int kStep = kWide * kLanes<float>;
  std::int64_t x = 0;
  for (; x + kStep <= columns; x += kStep)
    add_scaled_values<kRows, kWide>(p, x, factor, out, stride);
  for (; x < columns; x += kLanes<float>) add_scaled_values<kRows, 1>(p, x, factor, out, stride);
}

/// out [rows][stride] = out factor + P V for `rows` <= kMostFewRows rows; whole vectors of columns.
/// Changes `p`.
template <typename T, typename Value>
void add_values_to_few_rows(int rows, FactorRuns<T, Value>& p, std::int64_t columns,
                            const T* factor, T* out, std::int64_t stride) {
  if constexpr (kMostFewRows > 0) {
    if (rows == 1)
      add_values_of<1>(p, columns, factor, out, stride);
    else if (rows == 2)
      add_values_of<2>(p, columns, factor, out, stride);
    else if (rows <= 4)
      add_values_of<4>(p, columns, factor, out, stride);
    else
      add_values_of<8>(p, columns, factor, out, stride);
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
