// One task of the backward pass: a few blocks of 64 keys against the row blocks of the heads that
// read them (Dao et al. 2022, algorithm 4). A block of rows is read and transposed once for all of
// them. One row per lane, as in the forward pass:
//   S^T = K Q^T, dP^T = V dO^T, dS^T = scale P^T (dP^T - delta),
//   dV += P^T dO, dK += dS^T Q, dQ += dS K.
// Included once for each target.
//
// The first five stages take a few keys at a time where their weights would leave the L1 cache,
// else a whole tile. A partial tile computes, and sums over, only the vectors of rows that see keys
// of the group: a causal tile of 64 x 64 takes about 60 % of a full one, and a sequence of 64
// consists mostly of such tiles.
//
// Bound by the FMA ports: a vector of pairs takes 5 D / 2 cycles (Dv = D) and about 7 for the
// weights.
//
// Lab note: one thread, share of the FMA peak, medians of runs alternating with the previous
// version:
// - Up to four key blocks a task, so that rows are read, transposed and added to dq once for all of
//   them. AMD Zen 3 (AVX2), N = 1,024: D = 64 from 68 to 73 %, D = 128 from 70 to 75 %, causal from
//   66 to 71 %; with a softcap 63 %, dropout 66 %, a bias 58 to 60 %. Intel with AVX-512: D = 64
//   from 57 to 66 %, D = 128 from 58 to 71 %, causal at N = 4,096 from 62 to 71 %. A bare kernel
//   that transposes q and dout of a whole head first and has neither masks nor tails has 65 to 85 %
//   there.
// - Rows read in place instead of copied: +1 to +2 points at N = 64, none at N = 1,024. At D = 128
//   the copy takes 1 to 4 % less time on AVX2, as in the forward pass.
// - Products across all columns of a tile, or with all of its strips, in one call, whose lines are
//   a constant distance apart; e^x of four vectors at a time; whole tiles up to 96 columns, with
//   softcap, ALiBi and dropout as without; six keys at a time in partial tiles and above. AMD Zen
//   3, N = 1,024: D = 64 takes 10 to 14 % less time (causal 9, softcap 4, ALiBi 3, dropout 2, a
//   bias 4 to 7, the Gaussian 8), D = 96 5 to 9, D = 128 3 to 6; a causal softcap at N = 64 24 %.
//   In a quiet moment D = 64 ran at 80 % of the peak.
// - AMD Zen 4 with AVX-512, N = 1,024: f32 86 to 87 % of the peak at D = 64 and 128, causal 77 and
//   83 %. bf16 with S^T and dP^T in pairs, which have the same bits: from 86 to 103 % of the f32
//   peak at D = 64, from 84 to 101 % at D = 128, causal from 82 to 98 %. With the other three, too,
//   whose weights and cotangents are rounded to bf16: 144, 140 and 134 %. The RMS error is 1.0 to
//   1.2 times that of rounding inputs and results alone.
// - Remaining losses (AVX2, D = 64): the products take 84 % of the time, and a sum has only 64
//   terms; e^x and its surroundings take 5 %.
#if defined(HEED_SWEEP_BACKWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_BACKWARD_INL_H
#undef HEED_SWEEP_BACKWARD_INL_H
#else
#define HEED_SWEEP_BACKWARD_INL_H
#endif

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "attention/sweep/backward.h"
#include "attention/sweep/backward_terms-inl.h"
#include "attention/sweep/dropout-inl.h"
#include "attention/sweep/pairs-inl.h"
#include "attention/sweep/softmax-inl.h"
#include "attention/sweep/store_rows-inl.h"
#include "attention/sweep/turn.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// One thread's memory for a pass. Rows are whole_lines(columns) apart; [64] x [64] arrays of keys
/// and rows are [key][row].
template <typename T>
struct BackwardScratch {
  std::int64_t width = 0;        // row width of q and k
  std::int64_t value_width = 0;  // row width of v and out
  std::int64_t pairs_width = 0;  // row width of k in pairs
  QueryTile<T>* tile = nullptr;
  Visible* visible = nullptr;
  std::int64_t key_block = 0;  // within a group: the pointers below belong to this block
  T* k = nullptr;
  T* v = nullptr;             // of a pass in pairs [64][whole_lines(pairs of Dv)]
  T* k_pairs = nullptr;       // [64][whole_lines(pairs of D)]
  T* k_by_key = nullptr;      // [32][width], two keys per pair
  T* query_pairs = nullptr;   // [32][width], two rows per pair
  T* dout_pairs = nullptr;    // [32][value_width], likewise
  T* weight_pairs = nullptr;  // [64][32] or [32][64]: weights or dscores that are multiplied now
  T* dk = nullptr;
  T* dv = nullptr;
  KeyRows<T> queries;  // by row: in place, or in query_rows
  KeyRows<T> douts;    // by row; likewise
  T* query_rows = nullptr;
  T* dout = nullptr;  // [strip][Dv][lanes of a strip]
  T* dout_rows = nullptr;
  T* dq = nullptr;  // [64 rows]: the contribution of the key block
  RowLse<T>* lse = nullptr;
  T* delta = nullptr;
  T* weights = nullptr;     // [64][64], or [6][64]; the weights after dropout
  T* dscores = nullptr;     // [64][64]
  T* similarity = nullptr;  // [64][64], if a gradient of the scale may be requested
  T* capped = nullptr;      // [64][64]: scores after the softcap
  T* bias = nullptr;        // [64][64]
  double* query_norms = nullptr;
  double* key_norms = nullptr;

  BackwardScratch(const BackwardJob& job, Arena& arena)
      : width(whole_lines(job.problem.head_dim)),
        value_width(whole_lines(job.problem.value_dim)),
        pairs_width(whole_lines(pairs_of(job.problem.head_dim))) {
    const AttentionProblem& problem = job.problem;
    tile = arena.take<QueryTile<T>>(1);
    visible = arena.take<Visible>(1);
    lse = arena.take<RowLse<T>>(1);
    T* const by_column = arena.take<T>(kTileRows * problem.head_dim);
    if (tile != nullptr) {
      new (tile) QueryTile<T>;
      new (visible) Visible;
      new (lse) RowLse<T>;
      tile->queries = by_column;
    }
    for (T** part : {&k, &dk, &dq}) *part = arena.take<T>(job.key_group * kTileRows * width);
    for (T** part : {&v, &dv}) *part = arena.take<T>(job.key_group * kTileRows * value_width);
    if (kHasPairs<T> && job.in_pairs()) {
      k_pairs = arena.take<T>(job.key_group * kTileKeys * pairs_width);
      k_by_key = arena.take<T>(job.key_group * kTileKeys / 2 * width);
      query_pairs = arena.take<T>(kTileRows / 2 * width);
      dout_pairs = arena.take<T>(kTileRows / 2 * value_width);
      weight_pairs = arena.take<T>(kTileRows / 2 * kTileKeys);
    }
    query_rows = arena.take<T>(kTileRows * width);
    for (T** part : {&dout_rows, &dout}) *part = arena.take<T>(kTileRows * value_width);
    delta = arena.take<T>(kTileRows);
    constexpr std::int64_t kPairs = kTileRows * kTileKeys;
    weights = arena.take<T>(kPairs);
    dscores = arena.take<T>(kPairs);
    similarity = arena.take<T>(kPairs);
    capped = arena.take<T>(problem.score.softcap > 0 ? kPairs : 0);
    bias = arena.take<T>(problem.score.bias.data != nullptr ? kPairs : 0);
    query_norms = arena.take<double>(kTileRows);
    key_norms = arena.take<double>(job.key_group * kTileKeys);
  }

  /// Selects the arrays of another key block of the group.
  void move_to_block(std::int64_t to) {
    const std::int64_t keys = (to - key_block) * kTileKeys;
    for (T** part : {&k, &dk, &dq}) *part += keys * width;
    for (T** part : {&v, &dv}) *part += keys * value_width;
    if (k_pairs != nullptr) {
      k_pairs += keys * pairs_width;
      k_by_key += keys / 2 * width;
    }
    key_norms += keys;
    key_block = to;
  }
};

/// Rows of one head and a block of keys.
template <typename T>
struct BackwardTile {
  const BackwardJob& job;
  const Steps& steps;
  BackwardScratch<T>& s;
  TilePlace at = {};
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  bool rows_read = false;   // they do not depend on the keys
  bool rows_finite = true;  // of queries and douts; known for partial tiles
  bool keys_finite = true;  // of k; likewise

  const AttentionProblem& problem() const { return job.problem; }
  const Visible& visible() const { return *s.visible; }
  std::int64_t keys() const { return at.keys.count(); }
  bool in_pairs() const { return kHasPairs<T> && job.in_pairs(); }
  int vectors() const { return static_cast<int>((rows + kLanes<T> - 1) / kLanes<T>); }
  /// Whether a few keys at a time can go from scores to gradients: a bias may hide pairs of the
  /// tile, and its gradient, sums and observers read a whole one.
  bool grouped() const {
    return !steps.bias && !job.bias_in_sweep && job.observed == nullptr && !job.wants_sums();
  }
  /// Whether a score is also the plain product.
  bool plain() const {
    return grouped() && !steps.any() && job.problem.dropout.threshold == 0 && job.softmax();
  }
};

/// One thread's memory for a pass, and the current tile.
template <typename T>
struct BackwardTask {
  BackwardTask(const BackwardJob& job, void* memory)
      : arena(memory), scratch(job, arena), steps(job.problem), tile{job, steps, scratch} {}
  BackwardTask(const BackwardTask&) = delete;
  BackwardTask& operator=(const BackwardTask&) = delete;

  /// Moves to the keys from `key` on; keys() is not positive past the end of the sequence.
  void move_to_keys(std::int64_t batch, std::int64_t key) {
    const std::int64_t length = tile.problem().sequences[batch].key_length;
    tile.at = {batch, {key, std::min(key + kTileKeys, length)}};
  }
  void move_to_rows(std::int64_t batch, std::int64_t head, std::int64_t row) {
    tile.head = head;
    tile.row = row;
    tile.rows_read = false;
    tile.rows = std::min(kTileRows, tile.problem().sequences[batch].query_length - row);
  }

  Arena arena;
  BackwardScratch<T> scratch;
  Steps steps;
  BackwardTile<T> tile;
};

/// Transposes rows to columns: to[strip][column][lane] = factor * from[lane][column] for whole
/// vectors of lanes.
template <typename T>
void transpose_rows(const KeyRows<T>& from, std::int64_t columns, int lanes, T factor, T* to) {
  for (int i = 0; i < lanes; i += kLanes<T>) {
    T* const strip = to + i / kStripRows<T> * kStripRows<T> * columns + i % kStripRows<T>;
    rows_to_lanes<kLanes<T>>(from.data + i * from.row, from.row, columns, factor, strip,
                             kStripRows<T>);
  }
}

/// Turns transposed rows of bf16 into pairs, in place.
template <typename T>
void pack_strips(std::int64_t columns, int lanes, T* strips) {
  for (int i = 0; i < lanes; i += kStripRows<T>, strips += kStripRows<T> * columns)
    pack_lines(columns, strips, kStripRows<T>, std::min(lanes - i, kStripRows<T>), strips,
               kStripRows<T>);
}

/// Rows of one head of `from`: in place if `in_place` allows it, else copied to `to` and padded
/// with zeros to whole vectors.
template <typename T>
KeyRows<T> load_rows(const Input& from, const BackwardTile<T>& tile, bool in_place,
                     std::int64_t columns, std::int64_t stride, T* to) {
  const std::int64_t slot = tile.problem().sequences[tile.at.batch].query_begin + tile.row;
  std::int64_t offset = tile.at.batch * from.batch + tile.head * from.head + slot * from.row;
  if (in_place && columns <= kMostInPlace && columns == stride && tile.rows % kLanes<T> == 0 &&
      is_read_in_place<T>(from, columns))
    return {static_cast<const T*>(from.data) + offset, from.row};
  T* const first = to;
  for (std::int64_t i = 0; i < tile.rows; ++i, offset += from.row, to += stride) {
    kernels::HWY_NAMESPACE::load_line(from, offset, from.column, columns, to);
    std::fill(to + columns, to + stride, T{0});
  }
  std::fill_n(to, (tile.vectors() * kLanes<T> - tile.rows) * stride, T{0});
  return {first, stride};
}

/// Loads q, dout and the scalars of the tile's rows.
template <typename T>
void read_row_block(const BackwardTile<T>& tile) {
  const AttentionProblem& problem = tile.problem();
  BackwardScratch<T>& s = tile.s;
  const int lanes = tile.vectors() * kLanes<T>;
  const bool in_place = problem.score.similarity == Similarity::kDot;
  s.queries = load_rows(problem.q, tile, in_place, problem.head_dim, s.width, s.query_rows);
  if (problem.score.similarity == Similarity::kCosine)
    normalise_rows(tile.rows, problem.head_dim, s.width, s.query_rows, s.query_norms);
  const T factor = static_cast<T>(query_factor(problem, tile.head));
  transpose_rows(s.queries, problem.head_dim, lanes, factor, s.tile->queries);
  if constexpr (kHasPairs<T>)
    if (tile.in_pairs()) {
      pack_strips(problem.head_dim, lanes, s.tile->queries);
      pack_lines(tile.rows, s.queries.data, s.queries.row, s.width, s.query_pairs, s.width);
    }
  if (tile.job.observed == nullptr) {
    s.douts = load_rows(tile.job.backward.dout, tile, true, problem.value_dim, s.value_width,
                        s.dout_rows);
    transpose_rows(s.douts, problem.value_dim, lanes, T{1}, s.dout);
    if constexpr (kHasPairs<T>)
      if (tile.in_pairs()) {
        pack_strips(problem.value_dim, lanes, s.dout);
        pack_lines(tile.rows, s.douts.data, s.douts.row, s.value_width, s.dout_pairs,
                   s.value_width);
      }
  }
  if (!tile.job.softmax()) return;
  const std::int64_t first = lse_index(problem, tile.at.batch, tile.head, tile.row);
  s.lse->read(static_cast<const T*>(tile.job.backward.lse) + first,
              static_cast<const T*>(tile.job.backward.lse_low) + first, tile.rows);
  std::copy_n(static_cast<const T*>(tile.job.delta) + first, tile.rows, s.delta);
  std::fill(s.delta + tile.rows, s.delta + kTileRows, T{0});
}

/// Selects the rows and finds what they see. If they see anything, reads them once; else returns
/// false.
template <typename T>
bool begin_tile(BackwardTile<T>& tile) {
  const AttentionProblem& problem = tile.problem();
  RowSet& rows = tile.s.tile->rows;
  rows.set_one(tile.head, tile.row, tile.rows);
  tile.s.visible->look(problem, tile.at.batch, rows, tile.at.keys);
  if (tile.visible().empty()) return false;
  if (std::exchange(tile.rows_read, true)) return true;
  read_row_block(tile);
  if (tile.steps.any() || problem.dropout.threshold != 0)
    tile.s.tile->lanes.set(problem, tile.at.batch, rows);
  return true;
}

/// Vectors of rows that may see one of the keys [key, key + count).
struct VectorRange {
  int begin = 0;
  int end = 0;
};

template <typename T>
VectorRange range_of(const BackwardTile<T>& tile, std::int64_t key, std::int64_t count) {
  if (!tile.visible().partial()) return {0, tile.vectors()};
  std::uint64_t any = 0;
  for (std::int64_t j = key; j < key + count; ++j) any |= tile.visible().words[j];
  if (any == 0) return {0, 0};
  const int last = (63 - std::countl_zero(any)) / kLanes<T> + 1;
  return {std::countr_zero(any) / kLanes<T>, std::min(last, tile.vectors())};
}

/// `act(patch)` for the strips in a range, for keys [key, key + count), whose pairs begin
/// at `pairs`. Neighbouring whole strips are one patch.
template <typename T, class Act>
HWY_INLINE void for_patches(const VectorRange& range, std::int64_t key, std::int64_t count,
                            T* pairs, const Act& act) {
  for (int v = range.begin; v < range.end;) {
    int vectors = std::min(kStripVectors - v % kStripVectors, range.end - v);
    if (vectors == kStripVectors) vectors = (range.end - v) / kStripVectors * kStripVectors;
    act(Patch<T>{pairs + v * kLanes<T>, kTileRows, key, count, v * kLanes<T>, vectors});
    v += vectors;
  }
}

/// The columns of the patch's lanes in [strip][columns][lanes of a strip].
template <typename T>
const T* columns_of(const Patch<T>& patch, const T* strips, std::int64_t columns) {
  const int strip = patch.lane / kStripRows<T>;
  return strips + strip * kStripRows<T> * columns + patch.lane % kStripRows<T>;
}

/// The same patch of another array of pairs.
template <typename T>
Patch<T> in(const Patch<T>& patch, T* pairs) {
  Patch<T> other = patch;
  other.data = pairs + patch.key_begin * kTileRows + patch.lane;
  return other;
}

template <typename T>
void copy_patch(const Patch<T>& from, T* pairs) {
  const Patch<T> to = in(from, pairs);
  for (std::int64_t j = 0; j < from.keys; ++j)
    std::copy_n(from.data + j * from.stride, from.lanes(), to.data + j * to.stride);
}

/// K Q^T or V dO^T of a patch in pairs, with the bits of the product in T; false if the pass is not
/// in pairs.
template <typename T>
bool products_in_pairs(const BackwardTile<T>& tile, const Patch<T>& patch, const T* keys,
                       const T* strips, std::int64_t columns, const Patch<T>& to) {
  if constexpr (kHasPairs<T>) {
    if (!tile.in_pairs()) return false;
    const std::int64_t row = whole_lines(pairs_of(columns));
    const Factors<T> factors = {keys + patch.key_begin * row, row,
                                columns_of(patch, strips, columns), kStripRows<T>,
                                pairs_of(columns)};
    store_products<MultiplyPairs>(patch.keys, patch.vectors, factors, to.data, to.stride);
    return true;
  }
  return false;
}

/// S^T of a patch: writes the scores to `patch`.
template <typename T>
void score_patch(const BackwardTile<T>& tile, const Patch<T>& patch) {
  const AttentionProblem& problem = tile.problem();
  BackwardScratch<T>& s = tile.s;
  if (!products_in_pairs(tile, patch, s.k_pairs, s.tile->queries, problem.head_dim, patch))
    similarities(problem, KeyRows<T>{s.k, s.width}, *s.tile, patch);
  const bool wants_scale = tile.job.backward.dscale != nullptr;
  const auto keep = [&](ScoreStage stage) {
    if (stage == ScoreStage::kSimilarity && wants_scale) copy_patch(patch, s.similarity);
    if (stage == ScoreStage::kBeforeBias && tile.steps.softcap) copy_patch(patch, s.capped);
  };
  if (tile.steps.any())
    apply_steps(problem, tile.steps, tile.at, *s.tile, patch, s.bias, *s.visible, keep);
  else
    keep(ScoreStage::kSimilarity);
}

/// The weights of kVectors vectors of scores, for the rows from `lane`.
template <int kVectors, typename T>
HWY_INLINE void weigh_scores(const RowLse<T>& lse, int lane, const T* scores,
                             Vec<T> (&weights)[kVectors]) {
  const Tag<T> d;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    weights[v] =
        lse.below(hn::Load(d, scores + v * kLanes<T>), lane + v * static_cast<int>(kLanes<T>));
  exp_each(d, weights);
}

/// `act(vector, count)` for the vectors of a key's pairs, four at a time as far as possible; count
/// is a type. Four fill the registers of e^x; in double it has several chains already.
template <typename T, class Act>
HWY_INLINE void for_vectors_together(int vectors, const Act& act) {
  constexpr int kTogether = std::is_same_v<T, float> ? 4 : 1;
  int v = 0;
  for (; v + kTogether <= vectors; v += kTogether) act(v, std::integral_constant<int, kTogether>());
  for (; v < vectors; ++v) act(v, std::integral_constant<int, 1>());
}

/// Turns scores into weights, in place. Hidden pairs may hold anything.
template <typename T>
void weigh_patch(const BackwardTile<T>& tile, const Patch<T>& patch) {
  if (!tile.job.softmax()) return weigh_alone(tile.problem().score.normaliser, patch);
  T* line = patch.data;
  for (std::int64_t j = 0; j < patch.keys; ++j, line += patch.stride)
    for_vectors_together<T>(patch.vectors,
                            [&](int v, auto count) HWY_ATTR __attribute__((always_inline)) {
                              constexpr int kVectors = decltype(count)::value;
                              T* const at = line + v * kLanes<T>;
                              Vec<T> weights[kVectors];
                              weigh_scores(*tile.s.lse, patch.lane + v * kLanes<T>, at, weights);
#pragma GCC unroll 4
                              for (int i = 0; i < kVectors; ++i)
                                hn::Store(weights[i], Tag<T>(), at + i * kLanes<T>);
                            });
}

/// Cotangents of the weights from those of entropy and received: dp = dreceived - dentropy ln p.
/// The derivative of p ln p also has a term 1, which cancels because the weights of a row have a
/// fixed sum. `logs` holds the scores, and `patch` the weights.
template <typename T>
void observed_cotangents(const BackwardTile<T>& tile, const Patch<T>& patch, const Patch<T>& logs) {
  const AttentionProblem& problem = tile.problem();
  const std::int64_t head = tile.at.batch * problem.heads + tile.head;
  const auto* entropy = static_cast<const T*>(tile.job.observed->entropy);
  const auto* received = static_cast<const T*>(tile.job.observed->received);
  for (std::int64_t j = 0; j < patch.keys; ++j)
    for (int i = 0; i < patch.lanes(); ++i) {
      const std::int64_t row = patch.lane + i;
      const std::int64_t key = tile.at.keys.begin + patch.key_begin + j;
      T& change = logs.data[j * logs.stride + i];
      const T weight = patch.data[j * patch.stride + i];
      const T score = change;
      change = received == nullptr ? T{0} : received[head * problem.key_length + key];
      if (entropy == nullptr || row >= tile.rows || weight == 0) continue;
      const T log = tile.job.softmax() ? (score - tile.s.lse->high[row]) - tile.s.lse->low[row]
                                       : std::log(weight) + T{1};
      change -= entropy[head * problem.query_length + tile.row + row] * log;
    }
}

/// dP^T = V dO^T of a patch, in `dscores`.
template <typename T>
void weight_cotangents(const BackwardTile<T>& tile, const Patch<T>& patch) {
  const BackwardScratch<T>& s = tile.s;
  const std::int64_t columns = tile.problem().value_dim;
  if (products_in_pairs(tile, patch, s.v, s.dout, columns, in(patch, s.dscores))) return;
  const Factors<T> factors = {s.v + patch.key_begin * s.value_width, s.value_width,
                              columns_of(patch, s.dout, columns), kStripRows<T>, columns};
  store_products<Multiply>(patch.keys, patch.vectors, factors, in(patch, s.dscores).data,
                           kTileRows);
}

/// Computes weights, and their cotangents in `dscores`.
template <typename T>
void weigh_again(const BackwardTile<T>& tile, const Patch<T>& patch) {
  BackwardScratch<T>& s = tile.s;
  score_patch(tile, patch);
  const Patch<T> changes = in(patch, s.dscores);
  if (tile.job.observed != nullptr) {
    copy_patch(patch, s.dscores);
    weigh_patch(tile, patch);
    return observed_cotangents(tile, patch, changes);
  }
  weigh_patch(tile, patch);
  weight_cotangents(tile, patch);
}

/// Turns the cotangents of the weights into those of the scores; sets them and the weights to 0 at
/// hidden pairs, whatever the operands hold. Applies dropout to the weights.
template <typename T>
void through_normaliser(const BackwardTile<T>& tile, const Patch<T>& patch) {
  const Tag<T> d;
  const AttentionProblem& problem = tile.problem();
  const Patch<T> changes = in(patch, tile.s.dscores);
  std::uint64_t kept[kTileKeys];
  const bool dropout = problem.dropout.threshold != 0 && tile.job.observed == nullptr;
  if (dropout) {
    kept_words(problem, tile.at, tile.s.tile->lanes, patch, kept);
    drop(problem, kept, changes);
  }
  if (problem.score.normaliser != Normaliser::kNone)
    for (std::int64_t j = 0; j < patch.keys; ++j)
      for (int i = 0; i < patch.lanes(); i += kLanes<T>) {
        T* const to = changes.data + j * changes.stride + i;
        const auto p = hn::Load(d, patch.data + j * patch.stride + i);
        const auto change = hn::Load(d, to);
        const auto slope =
            tile.job.softmax()
                ? hn::Mul(p, hn::Sub(change, hn::Load(d, tile.s.delta + patch.lane + i)))
                : hn::Mul(change, hn::Mul(p, hn::Sub(hn::Set(d, T{1}), p)));
        hn::Store(slope, d, to);
      }
  if (dropout) drop(problem, kept, patch);
  if (!tile.visible().partial()) return;
  hide(tile.visible().words, T{0}, patch);
  hide(tile.visible().words, T{0}, changes);
}

/// A tile's contribution to the gradients of slope and scale. `dscores` are the cotangents of the
/// scores.
template <typename T>
TileSums sum_tile(const BackwardTile<T>& tile) {
  const AttentionProblem& problem = tile.problem();
  const Sequence& sequence = problem.sequences[tile.at.batch];
  const SoftcapStep<T> softcap = {static_cast<T>(problem.score.softcap)};
  TileSums sums;
  for (std::int64_t j = 0; j < tile.keys(); ++j)
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      if (tile.visible().partial() && (tile.visible().words[j] >> i & 1) == 0) continue;
      const std::int64_t e = j * kTileRows + i;
      auto change = static_cast<double>(tile.s.dscores[e]);
      const std::int64_t distance =
          std::abs(sequence.q_offset + tile.row + i - sequence.key_offset - tile.at.keys.begin - j);
      sums.slope -= change * static_cast<double>(distance);
      if (tile.job.backward.dscale == nullptr) continue;
      if (tile.steps.softcap)
        change *=
            static_cast<double>(hn::GetLane(softcap.slope(hn::Set(Tag<T>(), tile.s.capped[e]))));
      sums.scale += change * static_cast<double>(tile.s.similarity[e]);
    }
  sums.scale /= query_factor(problem, tile.head);
  return sums;
}

/// Turns the cotangents of the scores into those of the similarities, in place.
template <typename T>
void through_steps(const BackwardTile<T>& tile, const Patch<T>& changes) {
  const Tag<T> d;
  const AttentionProblem& problem = tile.problem();
  const auto scale = hn::Set(d, static_cast<T>(problem.scale[tile.head]));
  const SoftcapStep<T> softcap = {static_cast<T>(problem.score.softcap)};
  for_vectors(changes, [&](Vec<T> change, std::int64_t key, int lane) HWY_ATTR {
    change = hn::Mul(change, scale);
    if (!tile.steps.softcap) return change;
    return hn::Mul(change, softcap.slope(hn::Load(d, tile.s.capped + key * kTileRows + lane)));
  });
  if (tile.steps.softcap && tile.visible().partial())  // 0 times NaN
    hide(tile.visible().words, T{0}, changes);
}

/// Zeros the lanes outside a range, for keys [key, key + count) of the cotangents.
template <typename T>
void clear_outside(const BackwardTile<T>& tile, const VectorRange& range, std::int64_t key,
                   std::int64_t count) {
  for (std::int64_t j = key; j < key + count; ++j) {
    T* const line = tile.s.dscores + j * kTileRows;
    std::fill(line, line + range.begin * kLanes<T>, T{0});
    std::fill(line + range.end * kLanes<T>, line + tile.vectors() * kLanes<T>, T{0});
  }
}

/// dV += P^T dout and dK += dS^T Q for keys [key, key + count), whose weights begin at `weights`.
template <typename T>
void add_to_keys(const BackwardTile<T>& tile, const VectorRange& range, std::int64_t key,
                 std::int64_t count, T* weights) {
  const BackwardScratch<T>& s = tile.s;
  const std::int64_t begin = range.begin * kLanes<T>;
  const std::int64_t depth = std::min<std::int64_t>(range.end * kLanes<T>, tile.rows) - begin;
  if (depth <= 0) return;
  const VisiblePairs pairs = {tile.visible().words, key, begin};
  const bool products = !tile.visible().partial() || tile.rows_finite;
  const Similarity kind = tile.problem().score.similarity;
  if constexpr (kHasPairs<T>) {
    if (tile.in_pairs() && !products) {  // the same weights as in pairs
      round_lines(count, weights);
      round_lines(count, s.dscores + key * kTileRows);
    } else if (tile.in_pairs()) {
      const auto add = [&](const T* lines, const T* rows, std::int64_t width, T* to) {
        pack_lanes(count, lines, begin, begin + depth, s.weight_pairs);
        const Factors<T> p = {s.weight_pairs + begin / 2, kTileRows / 2, rows + begin / 2 * width,
                              width, pairs_of(depth)};
        products_across<Left::kByRow, Into::kAdd, MultiplyPairs, kTileRows / 2>(count, width, p,
                                                                                to);
      };
      if (tile.job.backward.dv.data != nullptr)
        add(weights, s.dout_pairs, s.value_width, s.dv + key * s.value_width);
      if (tile.job.backward.dk.data != nullptr)
        add(s.dscores + key * kTileRows, s.query_pairs, s.width, s.dk + key * s.width);
      return;
    }
  }
  if (tile.job.backward.dv.data != nullptr && tile.job.observed == nullptr) {
    const Factors<T> p = {weights + begin, kTileRows, s.douts.data + begin * s.douts.row,
                          s.douts.row, depth};
    T* const dv = s.dv + key * s.value_width;
    if (products)
      products_across<Left::kByRow, Into::kAdd>(count, s.value_width, p, dv);
    else
      add_visible_across<Left::kByRow, T>(Similarity::kDot, pairs, count, s.value_width, p, nullptr,
                                          dv);
  }
  if (tile.job.backward.dk.data == nullptr) return;
  const Factors<T> p = {s.dscores + key * kTileRows + begin, kTileRows,
                        s.queries.data + begin * s.queries.row, s.queries.row, depth};
  const T* const own = s.k + key * s.width;
  if (products && (tile.keys_finite || kind == Similarity::kDot || kind == Similarity::kCosine))
    add_similarity_gradients<Left::kByRow>(kind, count, s.width, p, own, s.dk + key * s.width);
  else
    add_visible_across<Left::kByRow, T>(kind, pairs, count, s.width, p, own, s.dk + key * s.width);
}

/// dq [rows][width] = dS K.
template <typename T>
void query_gradients(const BackwardTile<T>& tile) {
  const BackwardScratch<T>& s = tile.s;
  const bool partial = tile.visible().partial();
  const Similarity kind = tile.problem().score.similarity;
  const bool is_product = kind == Similarity::kDot || kind == Similarity::kCosine;
  constexpr std::int64_t kGroup = kDown<kStripVectors>;
  if constexpr (kHasPairs<T>)
    if (tile.in_pairs()) {
      pack_lines(tile.keys(), s.dscores, kTileRows, tile.vectors() * kLanes<T>, s.weight_pairs,
                 kTileRows);
      if (partial && !tile.keys_finite) round_lines(tile.keys(), s.dscores);
    }
  for (std::int64_t i = 0; i < tile.rows; i += kGroup) {
    const std::int64_t count = std::min(kGroup, tile.rows - i);
    const std::uint64_t rows = ((std::uint64_t{1} << count) - 1) << i;
    std::int64_t begin = 0;
    std::int64_t end = tile.keys();
    while (partial && begin < end && (tile.visible().words[begin] & rows) == 0) ++begin;
    while (partial && begin < end && (tile.visible().words[end - 1] & rows) == 0) --end;
    const Factors<T> p = {s.dscores + begin * kTileRows + i, kTileRows, s.k + begin * s.width,
                          s.width, end - begin};
    const T* const own = s.query_rows + i * s.width;
    const bool all = !partial || (tile.keys_finite && (is_product || tile.rows_finite));
    if constexpr (kHasPairs<T>)
      if (tile.in_pairs() && all) {
        const std::int64_t first = begin / 2;
        const Factors<T> packed = {s.weight_pairs + first * kTileRows + i, kTileRows,
                                   s.k_by_key + first * s.width, s.width, pairs_of(end) - first};
        products_across<Left::kByDepth, Into::kStore, MultiplyPairs>(count, s.width, packed,
                                                                     s.dq + i * s.width);
        continue;
      }
    if (all && is_product) {
      products_across<Left::kByDepth, Into::kStore>(count, s.width, p, s.dq + i * s.width);
      continue;
    }
    std::fill_n(s.dq + i * s.width, count * s.width, T{0});
    if (all)
      add_similarity_gradients<Left::kByDepth>(kind, count, s.width, p, own, s.dq + i * s.width);
    else
      add_visible_across<Left::kByDepth, T>(kind, {tile.visible().words, begin, i}, count, s.width,
                                            p, own, s.dq + i * s.width);
  }
}

/// The weights of a tile and the cotangents of its scores, in `weights` and `dscores`.
template <typename T>
void differentiate(const BackwardTile<T>& tile) {
  const VectorRange all = {0, tile.vectors()};
  const auto each = [&](const auto& act)
                        HWY_ATTR { for_patches(all, 0, tile.keys(), tile.s.weights, act); };
  each([&](const Patch<T>& patch) HWY_ATTR { weigh_again(tile, patch); });
  each([&](const Patch<T>& patch) HWY_ATTR { through_normaliser(tile, patch); });
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
