// One task of the forward pass: a block of up to 256 rows of a key/value head against the tiles of
// its keys (Dao et al. 2022, algorithm 1). Included once for each target.
//
// A tile of 64 x 64 is processed strip by strip; a strip has as many rows as two vectors (AVX2) or
// four have lanes: S^T = K Q^T, steps, softmax, O^T = O^T factor + V^T P^T, all with one row per
// lane. The scores, queries and output of a strip take 12 KB at D = 64 on AVX2, besides K and V,
// which are read once per strip. A strip computes only the keys between the first and the last that
// it sees.
//
// Bound by the FMA ports: a vector of scores takes D cycles for the two products (Dv = D) and about
// 5 for the softmax (10 uops on two ports), so at most 92 % of the FMA peak at D = 64 and 95.5 % at
// D = 128.
//
// Lab note, AMD Zen 3 (AVX2), one thread, N = 1,024, best of runs alternating with the previous
// version; the machine was shared, and single runs differ by 2 %. A bare kernel reaches 85 to 88 %
// of the FMA peak, this pass 80 % at D = 64 and 83 % at D = 128; before these changes 80 and 80 %.
// - Four steps of the depth per iteration, all tiles of a strip in one call, 64 keys as ten
//   tiles of six and one of four instead of eleven: D = 128 +2 to +4 points, D = 64 +0 to +1.
// - Two pointers and two distances for six rows instead of one pointer per row; old output fetched
//   to L1 before a tile's sums: +0 to +1. The time outside a tile's loop fell from 10 to 6 %.
// - Maximum in the registers of the product, e^x of two keys and two vectors step by step, a
//   strip's softmax behind the product of the next strip: +0 to +1 together; e^x fell from 7 to 6 %
//   of the time.
// - Tiles of more than 96 columns are copied to the task's memory before their strips: 3 to 9 %
//   less time at D = 128, 2 to 6 % at D = 160 to 256, 30 % for 16 or 32 query heads of one row;
//   none at D = 96, and more time at D = 64. Why rows in place cost more is not known:
//   prefetching the next tile in small parts, or a copy with another stride, made no difference.
// - No gain: e^x one operation at a time between the steps of a 4 x 2 product of the next
//   strip (D = 64 -3 points to +0, D = 128 +0: g++ moves the polynomial's operations together
//   again); larger pages.
// - The lines of a strip are a constant distance apart, and four steps share one pointer to V: no
//   additions between the products, one function for all tiles of a strip. D = 64 and 128 take 2 %
//   less. On a shared core, which dispatches three instructions per cycle, a step of 20 takes
//   longer than its 12 products. With all parts of this pass in a bare kernel's loop, D = 64 is
//   4 % slower than the bare kernel, of which e^x is 2, and the loop around them costs 3 % more.
// - No gain: queries prefetched before they are turned; e^x of a waiting strip beside 4 x 2 tiles
//   of the next product, its constants in memory and its operations between the tile's inline
//   assembly, with equal bits: D = 64 -2 to -5 %, D = 128 0 to +2 %. The same 4 x 2 tiles without
//   e^x cost 13 % of the pass.
// - 128 keys per tile: +1 to +2, but 32,768 equal weights then drift by 3e-6, in blocks of 64 by
//   less than 2e-6.
// - Short sequences: rows to lanes and back by whole vectors, not four at a time; only the vectors
//   that hold rows; logarithms of whole vectors. Intel with AVX-512, N = 16: from .45 to .85 of the
//   speed of the engine before this one; AVX2 from .75 to .95. The rest is the preparation of a
//   tile.
// - Remaining losses: the loops of the products have no spare instruction. Reading and writing
//   Q and O takes 2 %, the other work of a tile 1 to 2 %, e^x 6 % (8 of its 13 operations need the
//   two FMA ports; 5 do in the bare kernel, whose scores are in base 2 and whose exponent is an
//   addition).
//
// Lab note, AMD EPYC (Zen 4, AVX-512, a core that gives one FMA of 512 bits per cycle), one thread.
// - f32 reaches 87 % of the FMA peak at D = 64 and 89 % at D = 128 (N = 4,096), as a bare kernel
//   does in the same minutes (87 and 89 %).
// - Causal, vectors of a strip with keys of their own: N = 64 from 37 to 52 % of the peak, N = 128
//   from 52 to 65 %, N = 256 from 65 to 74 % (D = 128: 67 to 77 %); a window of 256 from 61 to
//   69 %. With two vectors together half of that. Where all vectors see the same keys, a narrower
//   product costs 5 %.
// - bf16 in pairs: 1.75 times f32 at D = 64 and 1.85 times at D = 128, 76 and 81 % of the peak of
//   pairs. Products of 64 keys run at 90 to 93 % of it; e^x, which pairs do not shorten, takes
//   12 %, loading pairs 2 %. With out_low only q . k is in pairs: 1.4 times f32. Eight keys of e^x
//   at once instead of four: +1 %. e^x with the steps of AVX2 (no vreduceps, no vscalefps): -1 %.
// - bf16 in pairs on a Zen 4, D = 64, N = 4,096: 78 % of the peak of pairs (D = 128: 84 %), where a
//   bare kernel reaches 86 % (92 %). Counted in the time of one product of pairs, 16 scores take
//   82: q . k 37.6, e^x 9.4 and P V 35.4, of which 64 are products. A stored vector takes 1.6 (16
//   products with four stores take 22), loads, broadcasts, maxima and conversions nothing.
// - No gain in pairs: e^x of four keys between the products of the next four, with a reference that
//   stays until a score exceeds it by 8 (0 to -2 %; in the order of its stages g++ spills: -15 %);
//   two keys in registers instead of four in memory, whose eight sums are too few to hide their
//   latency; the scale in one multiply-add to base 2. Not tried: strips of two vectors, and the
//   values of two tiles at once, which the bare kernel has.
// - Softcap as a rational function (steps-inl.h) instead of Highway's Tanh and two divisions, N =
//   2,048, D = 64: from 77 to 90 % of the speed without a softcap, with AVX2 from 70 to 84 %.
#if defined(HEED_SWEEP_FORWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_FORWARD_INL_H
#undef HEED_SWEEP_FORWARD_INL_H
#else
#define HEED_SWEEP_FORWARD_INL_H
#endif

#include <algorithm>
#include <bit>
#include <utility>

#include "attention/sweep/dropout-inl.h"
#include "attention/sweep/few_rows-inl.h"
#include "attention/sweep/pairs-inl.h"
#include "attention/sweep/scores-inl.h"
#include "attention/sweep/softmax-inl.h"
#include "attention/sweep/store_rows-inl.h"
#include "attention/sweep/tasks.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// The state of a block's 64 rows.
template <typename T>
struct ForwardTile : QueryTile<T> {
  OnlineSoftmax<T> softmax;
  T* out = nullptr;                 // [strip][Dv][width]; for few rows [8][whole_lines(Dv)]
  bool rounds_weights = false;      // weights and values are pairs of bf16, as the queries are
  const T* few_in_pairs = nullptr;  // few queries as pairs, too: [pairs of D][width]

  /// The output from a lane on, for many rows.
  T* out_of(int lane, std::int64_t columns) const {
    return out + lane / kStripRows<T> * kStripRows<T> * columns + lane % kStripRows<T>;
  }
};

/// If L1 holds the scores of two strips, the second half of a strip's work waits for the first half
/// of the next strip: the softmax then finds its scores and maximum complete.
constexpr int kBuffers = kStripVectors == 2 ? 2 : 1;

/// One thread's memory for a problem.
template <typename T>
struct ForwardScratch {
  ForwardTile<T>* tiles = nullptr;  // [kMaxTiles]
  T* scores = nullptr;              // [2][64 keys][lanes of a strip]; become the weights
  T* bias = nullptr;                // [64 keys][lanes of a strip]
  T* k = nullptr;                   // [64][whole_lines(D)]
  T* v = nullptr;                   // [64][whole_lines(Dv)]
  T* k_pairs = nullptr;             // [64][whole_lines(pairs of D)]
  T* v_pairs = nullptr;             // [32][whole_lines(Dv)]
  T* weight_pairs = nullptr;        // [32][lanes of a strip]
  T* line = nullptr;                // [4][whole_lines(D)], [lanes of a vector][whole_lines(Dv)]

  ForwardScratch(const AttentionProblem& problem, std::int64_t count, Arena& arena) {
    const std::int64_t value_width = whole_lines(problem.value_dim);
    tiles = arena.take<ForwardTile<T>>(count);
    scores = arena.take<T>(kBuffers * kTileKeys * kStripRows<T>);
    bias = arena.take<T>(problem.score.bias.data != nullptr ? kTileKeys * kStripRows<T> : 0);
    k = arena.take<T>(kTileKeys * whole_lines(problem.head_dim));
    v = arena.take<T>(kTileKeys * value_width);
    line = arena.take<T>(std::max(kLanes<T> * value_width, 4 * whole_lines(problem.head_dim)));
    if (kHasPairs<T> && has_pairs(problem))
      k_pairs = arena.take<T>(kTileKeys * whole_lines(pairs_of(problem.head_dim)));
    if (kHasPairs<T> && may_round_weights(problem)) {
      v_pairs = arena.take<T>(pairs_of(kTileKeys) * value_width);
      weight_pairs = arena.take<T>(pairs_of(kTileKeys) * kStripRows<T>);
    }
    for (std::int64_t t = 0; t < count; ++t) {
      T* const queries = arena.take<T>(kTileRows * problem.head_dim);
      T* const out =
          arena.take<T>(std::max(kTileRows * problem.value_dim, kMostFewRows * value_width));
      if (tiles == nullptr) continue;  // counting only
      new (&tiles[t]) ForwardTile<T>;
      tiles[t].queries = queries;
      tiles[t].out = out;
    }
  }
};

/// One task's problem and memory.
template <typename T>
struct ForwardTask {
  const AttentionProblem& problem;
  const AttentionForward& forward;
  const RowBlock& block;
  const Steps steps;
  ForwardScratch<T> scratch;
  std::int64_t tiles = 0;

  /// Whether rows of K or V are read in place; a single tile of keys is.
  bool in_place(std::int64_t columns) const {
    return columns <= kMostInPlace || problem.sequences[block.batch].key_length <= kTileKeys;
  }
  bool softmax() const { return problem.score.normaliser == Normaliser::kSoftmax; }
  /// The factors by which weights multiply scores, if no step before does; else null.
  const T* late_scale(const ForwardTile<T>& tile) const {
    return tile.rounds_weights && steps.scale_alone ? tile.lanes.scale : nullptr;
  }
};

/// Keys of a tile, loaded when the first row tile sees one of them.
template <typename T>
struct ForwardKeys {
  TilePlace place;
  KeyRows<T> k;
  KeyRows<T> v;
  StoredRows stored_k;  // replaces k and v for few rows
  StoredRows stored_v;
  StoredRows next_k;  // to prefetch, unless they follow stored_k in memory
  StoredRows next_v;
  bool read = false;
  KeyRows<T> k_pairs;  // null until a tile needs them
  KeyRows<T> v_pairs;
  enum class Finite : std::uint8_t { kUnknown, kYes, kNo } finite = Finite::kUnknown;  // of v
  /// A strip whose scores are still to become weights and multiply V.
  struct Waiting {
    ForwardTile<T>* tile = nullptr;    // null: no strip waits
    const Visible* partial = nullptr;  // the pairs it sees, if not all
    Patch<T> patch = {};
  } waiting = {};
  int buffer = 0;  // for the next strip's scores
};

template <typename T>
void begin_tile(const ForwardTask<T>& task, std::int64_t row, ForwardTile<T>& tile) {
  const AttentionProblem& problem = task.problem;
  set_rows(problem, task.block, row, tile.rows);
  tile.narrow();
  const bool lanes = task.steps.any() || problem.dropout.threshold != 0;
  read_queries<T>(problem, task.block.batch, lanes, task.scratch.line, tile);
  tile.rounds_weights =
      tile.in_pairs && may_round_weights(problem) && task.forward.out_low.data == nullptr;
  tile.few_in_pairs = nullptr;
  if constexpr (kHasPairs<T>)
    if (has_pairs(problem) && !tile.in_pairs) {  // few rows leave room behind them
      static_assert(3 * kLanes<T> <= 2 * kTileRows);
      T* const behind = tile.queries + problem.head_dim * tile.width;
      pack_lines(problem.head_dim, tile.queries, tile.width, tile.width, behind, tile.width);
      tile.few_in_pairs = behind;
    }
  tile.softmax.start(tile.rows.rows);
  // Three rows are computed as four, and five to seven as eight.
  const std::int64_t few =
      std::bit_ceil(static_cast<unsigned>(tile.few_rows())) * whole_lines(problem.value_dim);
  const std::int64_t all = strips_of<T>(tile.rows.rows) * tile.width * problem.value_dim;
  fill_vectors(tile.out, tile.few_rows() > 0 ? few : all, T{0});
}

template <typename T>
KeySpan span_of(const ForwardTask<T>& task, const ForwardKeys<T>& keys) {
  return {task.block.batch, task.block.kv_head, keys.place.keys.begin, keys.place.keys.count()};
}

template <typename T>
void read_values(const ForwardTask<T>& task, ForwardKeys<T>& keys) {
  const AttentionProblem& problem = task.problem;
  const ForwardScratch<T>& s = task.scratch;
  // The path for few rows reads whole vectors of V.
  bool in_place = task.in_place(problem.value_dim);
  for (std::int64_t t = 0; t < task.tiles; ++t)
    in_place = in_place && (s.tiles[t].few_rows() == 0 || problem.value_dim % kLanes<T> == 0);
  keys.v = read_rows<T>(problem, values_of(problem), span_of(task, keys), in_place,
                        whole_lines(problem.value_dim), s.v);
  keys.stored_v = {};
}

template <typename T>
void read_tile(const ForwardTask<T>& task, ForwardKeys<T>& keys) {
  const AttentionProblem& problem = task.problem;
  const KeySpan span = span_of(task, keys);
  keys.read = true;
#if HWY_TARGET != HWY_SCALAR
  // If the rows of a head are few, they are all in one tile.
  if (std::is_same_v<T, float> && task.scratch.tiles[0].few_rows() > 0 &&
      problem.score.similarity == Similarity::kDot && span.count >= kLeastKeys) {
    find_rows(problem, keys_of(problem), span, 4, kLeastKeys, keys.stored_k);
    find_rows(problem, values_of(problem), span, kLanes<float>, 1, keys.stored_v);
    const std::int64_t length = problem.sequences[span.batch].key_length;
    KeySpan next = {span.batch, span.kv_head, span.begin + span.count};
    const bool is_last = next.begin == length;
    if (is_last) next = {span.batch, span.kv_head + task.block.heads_ahead};
    next.count = std::min(kTileKeys, length - next.begin);
    if ((is_last || problem.key_form.pages != nullptr) && next.kv_head < problem.kv_heads) {
      find_rows(problem, keys_of(problem), next, 4, 1, keys.next_k);
      if (kPrefetchesOwn)
        find_rows(problem, values_of(problem), next, kLanes<float>, 1, keys.next_v);
    }
  }
#endif
  if (keys.stored_k.count == 0)
    keys.k = read_keys<T>(problem, span, task.in_place(problem.head_dim),
                          whole_lines(problem.head_dim), task.scratch.k);
  if (keys.stored_v.count == 0) read_values(task, keys);
}

/// Reads the keys of a tile in pairs, and the values if they multiply rounded weights.
template <typename T>
void read_pairs(const ForwardTask<T>& task, bool rounds_weights, ForwardKeys<T>& keys) {
  if constexpr (kHasPairs<T>) {
    const AttentionProblem& problem = task.problem;
    const ForwardScratch<T>& s = task.scratch;
    keys.k_pairs = read_key_pairs(problem, span_of(task, keys), s.k_pairs);
    if (!rounds_weights) return read_values(task, keys);
    keys.v_pairs = {s.v_pairs, whole_lines(problem.value_dim)};
    load_pairs_of_keys(problem, span_of(task, keys), keys.v_pairs.row, s.v_pairs);
  }
}

/// The products will prefetch the rows of the next tile: `next`, or those that follow `stored`.
template <class Products>
void prefetch_next(Products& products, const StoredRows& stored, const StoredRows& next,
                   std::int64_t columns) {
  const bool is_found = next.count > 0;
  products.prefetch(is_found ? next : stored, columns, is_found ? 0 : kTileKeys);
}

/// out = out factor + P V for a patch of weights.
template <typename T>
void add_values(const ForwardTask<T>& task, const ForwardKeys<T>& keys, const Patch<T>& patch,
                ForwardTile<T>& tile) {
  const std::int64_t columns = task.problem.value_dim;
  const T* const values = keys.v.data + patch.key_begin * keys.v.row;
  const T* const factor = tile.softmax.factor + patch.lane;
  if constexpr (std::is_same_v<T, float>)
    if (keys.stored_v.count > 0) {
      const StoredRows& stored = keys.stored_v;
      return with_rows(stored, [&]<typename Value>(const Value*) HWY_ATTR {
        FactorRuns<float, Value> products;
        std::int64_t key = 0;  // the patch holds all keys of the tile
        for (int i = 0; i < stored.count; key += stored.runs[i++].keys)
          products.add({patch.data + key * patch.stride, patch.stride, stored.rows<Value>(i),
                        stored.row, stored.runs[i].keys, stored.scales_of(i)},
                       stored.runs[i].keys);
        if (kPrefetchesOwn)
          prefetch_next(products, stored, keys.next_v, columns);
        else
          prefetch_next(products, keys.stored_k, keys.next_k, task.problem.head_dim);
        add_values_to_few_rows(tile.few_rows(), products, columns, factor, tile.out,
                               whole_lines(columns));
      });
    }
  if (const int rows = tile.few_rows(); rows > 0) {
    const Factors<T> factors = {patch.data, patch.stride, values, keys.v.row, patch.keys};
    FactorRuns<T, T> products(factors, patch.keys);
    add_values_to_few_rows(rows, products, columns, factor, tile.out, whole_lines(columns));
    return;
  }
  const Factors<T> factors = {values, keys.v.row, patch.data, patch.stride, patch.keys};
  add_scaled_products(columns, patch.vectors, factors, factor, tile.out_of(patch.lane, columns));
}

/// Adds P V for V that is not finite, where 0 * V is not 0: reads only visible values, in the same
/// order. `weight(j, i)` is that of key j and lane i of the patch, `value(j, x)` a value of its
/// key.
template <typename T, class Weight, class Value>
void add_visible_values(const ForwardTask<T>& task, const std::uint64_t* words,
                        const Patch<T>& patch, ForwardTile<T>& tile, const Weight& weight,
                        const Value& value) {
  const hn::CappedTag<T, 1> one;  // rounds like the product
  const std::int64_t columns = task.problem.value_dim;
  const bool few = tile.few_rows() > 0;
  const int end = std::min(patch.lanes(), tile.rows.rows - patch.lane);
  for (int i = 0; i < end; ++i)
    for (std::int64_t x = 0; x < columns; ++x) {
      auto sum = hn::Zero(one);
      for (std::int64_t j = 0; j < patch.keys; ++j) {
        if ((words[patch.key_begin + j] >> (patch.lane + i) & 1) == 0) continue;
        sum = hn::MulAdd(hn::Set(one, weight(j, i)), hn::Set(one, value(j, x)), sum);
      }
      T& to = few ? tile.out[i * whole_lines(columns) + x]
                  : tile.out_of(patch.lane, columns)[x * tile.width + i];
      to = hn::GetLane(
          hn::MulAdd(hn::Set(one, to), hn::Set(one, tile.softmax.factor[patch.lane + i]), sum));
    }
}

/// Turns scores into the weights that multiply V.
template <typename T>
void weigh(const ForwardTask<T>& task, const TilePlace& at,
           const typename ForwardKeys<T>::Waiting& waiting) {
  const AttentionProblem& problem = task.problem;
  const auto& [waiting_tile, partial, patch] = waiting;
  ForwardTile<T>& tile = *waiting_tile;
  if (task.softmax()) {
    tile.softmax.weigh(patch);
  } else {
    weigh_alone(problem.score.normaliser, patch);
    if (partial != nullptr) hide(partial->words, T{0}, patch);
  }
  if (problem.dropout.threshold == 0) return;
  std::uint64_t kept[kTileKeys];
  kept_words(problem, at, tile.lanes, patch, kept);
  drop(problem, kept, patch);
}

/// Whether a strip may read only the values that it sees: it does not see all pairs, and V is not
/// finite. `is_finite` finds that out once.
template <typename T, class IsFinite>
bool reads_visible_values(ForwardKeys<T>& keys, const Visible* partial, const IsFinite& is_finite) {
  using Finite = typename ForwardKeys<T>::Finite;
  if (partial == nullptr) return false;
  if (keys.finite == Finite::kUnknown) keys.finite = is_finite() ? Finite::kYes : Finite::kNo;
  return keys.finite == Finite::kNo;
}

/// The second half of a strip's work, in pairs.
template <typename T>
void finish_pairs(const ForwardTask<T>& task, ForwardKeys<T>& keys,
                  const typename ForwardKeys<T>::Waiting& waiting) {
  const auto& [waiting_tile, partial, patch] = waiting;
  ForwardTile<T>& tile = *waiting_tile;
  const std::int64_t columns = task.problem.value_dim;
  const T* const weights = task.scratch.weight_pairs;
  const T* const values = keys.v_pairs.data + patch.key_begin / 2 * keys.v_pairs.row;
  tile.softmax.weigh_in_pairs(patch, task.late_scale(tile), task.scratch.weight_pairs);
  const auto is_finite = [&]() HWY_ATTR {
    return pairs_are_finite(keys.v_pairs, pairs_of(keys.place.keys.count()), columns);
  };
  if (reads_visible_values(keys, partial, is_finite))
    return add_visible_values(
        task, partial->words, patch, tile,
        [&](std::int64_t j, int i) {
          return number_of(weights[j / 2 * patch.stride + i], j % 2 != 0);
        },
        [&](std::int64_t j, std::int64_t x) {
          return number_of(values[j / 2 * keys.v_pairs.row + x], j % 2 != 0);
        });
  const Factors<T> factors = {values, keys.v_pairs.row, weights, patch.stride,
                              pairs_of(patch.keys)};
  add_scaled_products<MultiplyPairs>(columns, patch.vectors, factors,
                                     tile.softmax.factor + patch.lane,
                                     tile.out_of(patch.lane, columns));
}

/// The second half of a strip's work.
template <typename T>
void finish_strip(const ForwardTask<T>& task, ForwardKeys<T>& keys) {
  const auto [tile, partial, patch] = keys.waiting;
  if (tile == nullptr) return;
  const auto waiting = std::exchange(keys.waiting, {});
  if constexpr (kHasPairs<T>)
    if (tile->rounds_weights) return finish_pairs(task, keys, waiting);
  weigh(task, keys.place, waiting);
  if (partial != nullptr && keys.stored_v.count > 0) read_values(task, keys);
  const auto is_finite = [&]() HWY_ATTR {
    return rows_are_finite(keys.v, keys.place.keys.count(), task.problem.value_dim);
  };
  if (reads_visible_values(keys, partial, is_finite))
    add_visible_values(
        task, partial->words, patch, *tile,
        [&](std::int64_t j, int i) { return patch.data[j * patch.stride + i]; },
        [&](std::int64_t j, std::int64_t x) {
          return keys.v.data[(patch.key_begin + j) * keys.v.row + x];
        });
  else
    add_values(task, keys, patch, *tile);
}

/// The scores of a strip and their maximum, if scores are plain products: the maximum is taken in
/// the registers of the product.
template <typename T>
void score_products(const ForwardTask<T>& task, const ForwardKeys<T>& keys, const Patch<T>& patch,
                    ForwardTile<T>& tile) {
  const Factors<T> factors = score_factors(task.problem, keys.k, tile, patch);
  tile.softmax.start_top(patch);
  store_products<Multiply>(patch.keys, patch.vectors, factors, patch.data, patch.stride,
                           tile.softmax.top + patch.lane);
}

/// The same in pairs, and for every form of the scores. If the scale is the only step, it is left
/// to rounded weights.
template <typename T>
void score_pairs(const ForwardTask<T>& task, const ForwardKeys<T>& keys, const Patch<T>& patch,
                 Visible& visible, ForwardTile<T>& tile) {
  const AttentionProblem& problem = task.problem;
  const Factors<T> factors = score_factors(problem, keys.k_pairs, tile, patch);
  const bool steps = task.steps.any() && task.late_scale(tile) == nullptr;
  const bool plain = task.softmax() && !steps && !visible.partial();
  if (plain) tile.softmax.start_top(patch);
  store_products<MultiplyPairs>(patch.keys, patch.vectors, factors, patch.data, patch.stride,
                                plain ? tile.softmax.top + patch.lane : nullptr);
  if (plain) return;
  if (steps)
    apply_steps(problem, task.steps, keys.place, tile, patch, task.scratch.bias, visible,
                [](ScoreStage) {});
  if (!task.softmax()) return;
  if (visible.partial()) hide(visible.words, kLowest<T>, patch);
  tile.softmax.find_top(patch);
}

/// Similarities of few rows to keys that are not copied. Prefetches the next tile meanwhile.
template <typename T>
void stored_similarities([[maybe_unused]] const ForwardTask<T>& task,
                         [[maybe_unused]] const ForwardKeys<T>& keys,
                         [[maybe_unused]] const Patch<T>& patch,
                         [[maybe_unused]] const ForwardTile<T>& tile) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const StoredRows& stored = keys.stored_k;
    const std::int64_t columns = task.problem.head_dim;
    // One element of a row is `of` columns.
    const auto compute = [&]<typename Key>(const Key*, const float* queries, int of) HWY_ATTR {
      FactorRuns<Key, float> products;
      for (int i = 0; i < stored.count; ++i)
        products.add({stored.rows<Key>(i), stored.row / of, queries, tile.width, columns / of,
                      stored.scales_of(i)},
                     stored.runs[i].keys);
      if (kPrefetchesOwn)
        prefetch_next(products, stored, keys.next_k, columns);
      else
        products.prefetch(keys.stored_v, task.problem.value_dim, 0);
      scores_of_few_rows(tile.few_rows(), products, patch.data, patch.stride);
    };
    if constexpr (kHasPairs<T>)
      if (tile.few_in_pairs != nullptr && stored.row % 2 == 0)
        return compute(static_cast<const KeyPair*>(nullptr), tile.few_in_pairs, 2);
    with_rows(stored,
              [&]<typename Key>(const Key* none) HWY_ATTR { compute(none, tile.queries, 1); });
  }
#endif
}

/// The first half: from similarities to scores and their maximum.
template <typename T>
void score_strip(const ForwardTask<T>& task, const ForwardKeys<T>& keys, const Patch<T>& patch,
                 Visible& visible, ForwardTile<T>& tile) {
  const AttentionProblem& problem = task.problem;
  const bool steps = task.steps.any();
  if constexpr (kHasPairs<T>)
    if (tile.in_pairs) return score_pairs(task, keys, patch, visible, tile);
  if (task.softmax() && !steps && !visible.partial() && tile.few_rows() == 0 &&
      problem.score.similarity == Similarity::kDot)
    return score_products(task, keys, patch, tile);
  if (keys.stored_k.count > 0)
    stored_similarities(task, keys, patch, tile);
  else
    similarities(problem, keys.k, tile, patch);
  if (steps)
    apply_steps(problem, task.steps, keys.place, tile, patch, task.scratch.bias, visible,
                [](ScoreStage) {});
  if (!task.softmax()) return;
  if (visible.partial()) hide(visible.words, kLowest<T>, patch);
  tile.softmax.find_top(patch);
}

/// A strip, or a part of it; `range` holds the keys that it sees.
template <typename T>
void attend_lanes(const ForwardTask<T>& task, ForwardKeys<T>& keys, int lane, int vectors,
                  KeyRange range, Visible& visible, ForwardTile<T>& tile) {
  if (range.count() <= 0) return;
  if (keys.stored_k.count > 0)
    range = {0, keys.place.keys.count()};  // the path for few rows computes at least these
  const Patch<T> patch = {.data = task.scratch.scores + keys.buffer * kTileKeys * kStripRows<T>,
                          .stride = tile.width,
                          .key_begin = range.begin,
                          .keys = range.count(),
                          .lane = lane,
                          .vectors = vectors};
  score_strip(task, keys, patch, visible, tile);
  if (kBuffers == 2) finish_strip(task, keys);
  if (task.softmax()) tile.softmax.begin(patch, task.late_scale(tile));
  keys.waiting = {&tile, visible.partial() ? &visible : nullptr, patch};
  keys.buffer = (keys.buffer + 1) % kBuffers;
  if (kBuffers == 1) finish_strip(task, keys);
}

/// On AVX-512 a strip has 64 rows, and its vectors may see different keys: each vector then takes
/// its own, if that saves more than the narrower products cost.
template <typename T>
void attend_strip(const ForwardTask<T>& task, ForwardKeys<T>& keys, int strip, Visible& visible,
                  ForwardTile<T>& tile) {
  const int first = strip * kStripRows<T>;
  const int vectors = vectors_of<T>(tile.rows.rows, strip);
  const std::int64_t count = keys.place.keys.count();
  const KeyRange all = visible.range(first, vectors * kLanes<T>, count);
  if (kStripVectors > 2 && visible.partial() && tile.few_rows() == 0) {
    KeyRange own[kStripVectors];
    std::int64_t pairs = 0;
    for (int v = 0; v < vectors; ++v) {
      own[v] = visible.range(first + v * kLanes<T>, kLanes<T>, count);
      pairs += own[v].count();
    }
    if (8 * pairs < 7 * vectors * all.count()) {
      for (int v = 0; v < vectors; ++v)
        attend_lanes(task, keys, first + v * kLanes<T>, 1, own[v], visible, tile);
      return;
    }
  }
  attend_lanes(task, keys, first, vectors, all, visible, tile);
}

template <typename T>
void attend_tile(const ForwardTask<T>& task, ForwardKeys<T>& keys, ForwardTile<T>& tile) {
  Visible visible;
  visible.look(task.problem, task.block.batch, tile.rows, keys.place.keys);
  if (visible.empty()) return;
  if (tile.in_pairs && keys.k_pairs.data == nullptr) read_pairs(task, tile.rounds_weights, keys);
  if (!tile.in_pairs && !keys.read) read_tile(task, keys);
  for (int strip = 0; strip < strips_of<T>(tile.rows.rows); ++strip)
    attend_strip(task, keys, strip, visible, tile);
  if (keys.waiting.partial != nullptr) finish_strip(task, keys);  // `visible` ends here
  if (visible.partial())
    for (std::int64_t j = 0; j < keys.place.keys.count(); ++j)
      tile.softmax.seen |= visible.words[j];
  else
    tile.softmax.seen = ~std::uint64_t{0};
}

template <typename T>
void finish_tile(const ForwardTask<T>& task, const ForwardTile<T>& tile) {
  const AttentionProblem& problem = task.problem;
  const AttentionForward& forward = task.forward;
  const std::int64_t batch = task.block.batch;
  alignas(64) T factors[kTileRows] = {};
  alignas(64) double sums[kTileRows], logs[kTileRows];
  if (forward.lse != nullptr) tile.softmax.sum_up(tile.rows.rows, sums, logs);
  for (int s = 0; s < tile.rows.segment_count; ++s) {
    const Segment& segment = tile.rows.segments[s];
    const double sink =
        problem.score.sink != nullptr ? problem.score.sink[segment.head] : kLowest<double>;
    const std::int64_t first = lse_index(problem, batch, segment.head, segment.row);
    for (int r = 0; r < segment.count; ++r) {
      const int lane = segment.lane + r;
      factors[lane] = 1;
      if (forward.lse == nullptr) continue;
      const RowEnd end = end_of_row(static_cast<double>(tile.softmax.maximum[lane]), sums[lane],
                                    logs[lane], (tile.softmax.seen >> lane & 1) != 0, sink);
      end.lse.store(static_cast<T*>(forward.lse)[first + r],
                    static_cast<T*>(forward.lse_low)[first + r]);
      double factor = end.factor;
      // Rounded weights, too, sum to 1: equal values give their value.
      if (tile.rounds_weights && tile.softmax.multiplied[lane] > 0)
        factor *= sums[lane] / static_cast<double>(tile.softmax.multiplied[lane]);
      factors[lane] = static_cast<T>(factor);
    }
  }
  store_out(problem, forward, batch, tile.rows, {tile.out, tile.few_rows() > 0, tile.width},
            factors, task.scratch.line);
}

/// Runs one block; `scratch` is for `tiles` row tiles.
template <typename T>
void forward_block(const AttentionProblem& problem, const AttentionForward& forward,
                   const RowBlock& block, const ForwardScratch<T>& scratch) {
  ForwardTask<T> task = {problem, forward, block, Steps(problem), scratch};
  for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows)
    begin_tile(task, row, scratch.tiles[task.tiles++]);
  const std::int64_t length = problem.sequences[block.batch].key_length;
  constexpr std::int64_t kStretch = 16 * kTileKeys;  // empty stretches are skipped whole
  bool stretch[kMaxTiles] = {};
  for (std::int64_t begin = 0; begin < length; begin += kTileKeys) {
    if (begin % kStretch == 0)
      for (std::int64_t t = 0; t < task.tiles; ++t)
        stretch[t] = classify(problem, block.batch, scratch.tiles[t].rows,
                              {begin, std::min(begin + kStretch, length)}) != TileClass::kEmpty;
    ForwardKeys<T> keys;
    keys.place = {block.batch, {begin, std::min(begin + kTileKeys, length)}};
    for (std::int64_t t = 0; t < task.tiles; ++t)
      if (stretch[t]) attend_tile(task, keys, scratch.tiles[t]);
    finish_strip(task, keys);
  }
  for (std::int64_t t = 0; t < task.tiles; ++t) finish_tile(task, scratch.tiles[t]);
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
