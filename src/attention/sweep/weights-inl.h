// The weights of up to 64 rows of one head, from q, k and the log-sum-exp: no maximum, no sum, no
// V. Included once for each target.
//
// A tile is computed strip by strip, as in the forward pass: S^T = K Q^T, steps, weights. In f32
// the scores become weights inside the tile that observers see; in f64 a strip has separate memory.
//
// Bound by the FMA ports, as the forward pass: a vector of scores takes D/2 cycles for its product
// and about 6 for the rest. Measured at N = 4096, D = 64, one thread of AVX2, relative to the
// forward pass: 0.56 of its time, with entropy 0.62. AMD Zen 4 with AVX-512, bf16, N = 1,000, with
// entropy: products in pairs take 0.61 (D = 72) and 0.58 (D = 128) of the time of floats.
#if defined(HEED_SWEEP_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_WEIGHTS_INL_H
#undef HEED_SWEEP_WEIGHTS_INL_H
#else
#define HEED_SWEEP_WEIGHTS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/sweep/scores-inl.h"
#include "attention/sweep/softmax-inl.h"
#include "attention/sweep/weights.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {
static_assert(kTileRows == kMaskRows, "a word of `visible` is a line of a tile");

/// Memory for the tiles of one sweep over the keys. Tiles are [64 keys][64 rows].
template <typename T>
struct WeightScratch {
  T* queries = nullptr;
  T* line = nullptr;         // [4][whole_lines(D)]
  T* k = nullptr;            // [64][whole_lines(D)]
  T* v = nullptr;            // [64][whole_lines(Dv)]
  T* bias = nullptr;         // [64][kScoreStride]
  T* scores = nullptr;       // [64][kScoreStride]: in f32 the tile of weights, in f64 one strip
  float* weights = nullptr;  // tiles from here down
  float* log_weights = nullptr;
  float* shown = nullptr;             // scores, -inf where hidden
  std::array<float*, 3> before = {};  // scores before the stage of each ScoreStage
  float* value_norms = nullptr;       // [64]

  static constexpr bool kInPlace = std::is_same_v<T, float>;
  static constexpr std::int64_t kScoreStride = kInPlace ? kTileRows : kStripRows<T>;

  WeightScratch(const AttentionProblem& problem, Arena& arena) {
    constexpr std::int64_t kTile = kTileKeys * kTileRows;
    queries = arena.take<T>(kTileRows * problem.head_dim);
    line = arena.take<T>(4 * whole_lines(problem.head_dim));
    k = arena.take<T>(kTileKeys * whole_lines(problem.head_dim));
    v = arena.take<T>(kTileKeys * whole_lines(problem.value_dim));
    bias = arena.take<T>(problem.score.bias.data != nullptr ? kTileKeys * kScoreStride : 0);
    for (float** tile : {&weights, &log_weights, &shown, &before[0], &before[1], &before[2]})
      *tile = arena.take<float>(kTile);
    value_norms = arena.take<float>(kTileKeys);
    if constexpr (kInPlace)
      scores = weights;
    else
      scores = arena.take<T>(kTileKeys * kScoreStride);
  }
  /// Initialises the lanes without a row, which no strip writes.
  void clear() const {
    constexpr std::int64_t kTile = kTileKeys * kTileRows;
    std::fill_n(weights, kTile, 0.0F);
    std::fill_n(log_weights, kTile, kLowest<float>);
    std::fill_n(shown, kTile, kLowest<float>);
    for (float* tile : before) std::fill_n(tile, kTile, 0.0F);
  }
};

/// One sweep's problem, rows and memory.
template <typename T>
struct WeightTask {
  const AttentionProblem& problem;
  const WeightScratch<T> scratch;
  const Steps steps;
  QueryTile<T> queries;
  RowLse<T> lse;
};

template <typename T>
HWY_INLINE void store_floats(Vec<T> x, float* to) {
  if constexpr (std::is_same_v<T, float>)
    hn::Store(x, Tag<float>(), to);
  else if constexpr (kLanes<T> == 1)
    *to = static_cast<float>(hn::GetLane(x));  // Highway's conversion lacks infinity there
  else
    hn::Store(hn::DemoteTo(hn::Rebind<float, Tag<T>>(), x), hn::Rebind<float, Tag<T>>(), to);
}

/// x where bits `lane`, `lane` + 1, ... of a word are set, else `hidden`.
template <typename T>
HWY_INLINE Vec<T> where_seen(Vec<T> x, std::uint64_t word, int lane, T hidden) {
  if (word == ~std::uint64_t{0}) return x;
  const Tag<T> d;
  return hn::IfThenElse(kernels::HWY_NAMESPACE::mask_lanes(d, word, lane), x, hn::Set(d, hidden));
}

/// Calls use(scores, key, lane, place in a tile) for every vector of a patch, column by column: a
/// line of two vectors, as on AVX2, is too short for an inner loop.
template <typename T, class Function>
HWY_INLINE void for_columns(const Patch<T>& patch, const Function& use) {
  const Tag<T> d;
  for (int i = 0; i < patch.lanes(); i += kLanes<T>) {
    const T* from = patch.data + i;
    std::int64_t to = patch.lane + i;
    for (std::int64_t j = 0; j < patch.keys; ++j, from += patch.stride, to += kTileRows)
      use(hn::Load(d, from), j, patch.lane + i, to);
  }
}

/// Copies the scores of a patch, hidden or not.
template <typename T>
void show_all(const Patch<T>& patch, float* tile) {
  for_columns(patch, [&](Vec<T> score, std::int64_t, int, std::int64_t to)
                         HWY_ATTR { store_floats<T>(score, tile + to); });
}

/// Copies the scores, -inf where hidden.
template <typename T>
void show_seen(const Patch<T>& patch, const std::uint64_t* words, float* tile) {
  for_columns(patch, [&](Vec<T> score, std::int64_t key, int lane, std::int64_t to) HWY_ATTR {
    store_floats<T>(where_seen(score, words[key], lane, kLowest<T>), tile + to);
  });
}

/// The logarithm of a weight that was not normalised by a sum: -inf for 0, NaN for negative
/// weights.
template <typename T>
HWY_INLINE Vec<T> log_of(Vec<T> weight) {
  const Tag<T> d;
  const auto nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  const auto log = hn::IfThenElse(hn::Gt(weight, hn::Zero(d)), hn::Log(d, weight), nan);
  return hn::IfThenElse(hn::Eq(weight, hn::Zero(d)), hn::Set(d, kLowest<T>), log);
}

/// Writes the weights, possibly in place of the scores, and, if wanted, their logarithms.
template <bool kLogs, typename T, class Weight, class Log>
HWY_INLINE void show_weights(const Patch<T>& patch, const std::uint64_t* words,
                             const Weight& weight, const Log& log, float* weights, float* logs) {
  for_columns(patch, [&](Vec<T> score, std::int64_t key, int lane, std::int64_t to) HWY_ATTR {
    if constexpr (kLogs)
      store_floats<T>(where_seen(log(score, lane), words[key], lane, kLowest<T>), logs + to);
    store_floats<T>(where_seen(weight(score, lane), words[key], lane, T{0}), weights + to);
  });
}

/// Turns scores into weights and, unless null, their logarithms.
template <typename T>
void weigh_strip(const WeightTask<T>& task, const std::uint64_t* words, const Patch<T>& patch,
                 float* logs) {
  const Tag<T> d;
  float* const weights = task.scratch.weights;
  const auto show = [&](const auto& weight, const auto& log) HWY_ATTR {
    if (logs != nullptr)
      show_weights<true>(patch, words, weight, log, weights, logs);
    else
      show_weights<false>(patch, words, weight, log, weights, logs);
  };
  const Normaliser normaliser = task.problem.score.normaliser;
  if (normaliser == Normaliser::kSoftmax)
    show([&](Vec<T> z, int lane) HWY_ATTR { return exp(d, task.lse.below(z, lane)); },
         [&](Vec<T> z, int lane) HWY_ATTR { return task.lse.below(z, lane); });
  else if (normaliser == Normaliser::kSigmoid)
    show([](Vec<T> z, int) HWY_ATTR { return sigmoid<T>(z); },
         [](Vec<T> z, int) HWY_ATTR { return log_of<T>(sigmoid<T>(z)); });
  else
    show([](Vec<T> z, int) HWY_ATTR { return z; },
         [](Vec<T> z, int) HWY_ATTR { return log_of<T>(z); });
}

/// Where the stages of the scores are kept; null if a later stage is the same.
using KeptStages = std::array<float*, 3>;

inline void name_stages(const KeptStages& kept, WeightTile& tile) {
  tile.before_mask = kept[2];
  tile.before_bias = kept[1] != nullptr ? kept[1] : tile.before_mask;
  tile.before_softcap = kept[0] != nullptr ? kept[0] : tile.before_bias;
}

template <typename T>
KeptStages kept_stages(const WeightTask<T>& task, const WantedOfTile& wanted) {
  if (!wanted.before_mask) return {};
  KeptStages kept = task.scratch.before;
  if (!task.steps.softcap) kept[0] = nullptr;
  if (!task.steps.bias && !task.steps.alibi) kept[1] = nullptr;
  return kept;
}

/// Computes one strip of a tile, for all its keys. The bias may hide further pairs.
template <typename T>
void compute_strip(const WeightTask<T>& task, const TilePlace& at, const KeyRows<T>& keys,
                   int strip, const KeptStages& kept, const WeightTile& tile, Visible& visible) {
  const WeightScratch<T>& scratch = task.scratch;
  const int lane = strip * kStripRows<T>;
  const Patch<T> patch = {.data = scratch.scores + (scratch.kInPlace ? lane : 0),
                          .stride = scratch.kScoreStride,
                          .key_begin = 0,
                          .keys = at.keys.count(),
                          .lane = lane,
                          .vectors = vectors_of<T>(task.queries.rows.rows, strip)};
  similarities(task.problem, keys, task.queries, patch);
  apply_steps(task.problem, task.steps, at, task.queries, patch, scratch.bias, visible,
              [&](ScoreStage stage) HWY_ATTR {
                if (stage == ScoreStage::kSimilarity) return;
                float* const to = kept[static_cast<std::size_t>(stage)];
                if (to != nullptr) show_all(patch, to);
              });
  if (tile.scores != nullptr) show_seen(patch, visible.words, scratch.shown);
  weigh_strip(task, visible.words, patch,
              tile.log_weights != nullptr ? scratch.log_weights : nullptr);
}

/// Sets the words of full and empty tiles too: only existing rows see a key.
inline void spell_out(int rows, std::int64_t keys, Visible& visible) {
  const std::uint64_t existing =
      rows == kTileRows ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
  if (!visible.partial())
    std::fill_n(visible.words, keys, visible.empty() ? std::uint64_t{0} : existing);
  visible.kind = TileClass::kPartial;
}

/// Everything except the norms of the values. `visible` must be known.
template <typename T>
WeightTile compute_tile(const WeightTask<T>& task, const TilePlace& at, const KeySpan& span,
                        const WantedOfTile& wanted, Visible& visible) {
  const auto flush = flush_to_zero_in(kTypeOf<T>);
  const AttentionProblem& problem = task.problem;
  const WeightScratch<T>& scratch = task.scratch;
  WeightTile tile = {.key_begin = at.keys.begin,
                     .key_end = at.keys.end,
                     .weights = scratch.weights,
                     .log_weights = wanted.log_weights ? scratch.log_weights : nullptr,
                     .scores = wanted.scores ? scratch.shown : nullptr,
                     .visible = visible.words,
                     .empty = visible.empty()};
  const KeptStages kept = kept_stages(task, wanted);
  name_stages(kept, tile);
  const int rows = task.queries.rows.rows;
  spell_out(rows, span.count, visible);
  const KeyRows<T> keys =
      task.queries.in_pairs
          ? read_key_pairs(problem, span, scratch.k)
          : read_keys<T>(problem, span, true, whole_lines(problem.head_dim), scratch.k);
  for (int strip = 0; strip < strips_of<T>(rows); ++strip)
    compute_strip(task, at, keys, strip, kept, tile, visible);
  if (task.steps.bias)
    tile.empty = std::all_of(visible.words, visible.words + span.count,
                             [](std::uint64_t word) { return word == 0; });
  return tile;
}

/// Runs in the caller's float mode, so that norms of small values are exact.
template <typename T>
const float* measure_values(const WeightTask<T>& task, const KeySpan& span) {
  const AttentionProblem& problem = task.problem;
  const std::int64_t width = whole_lines(problem.value_dim);
  const KeyRows<T> values =
      read_rows<T>(problem, values_of(problem), span, true, width, task.scratch.v);
  for (std::int64_t j = 0; j < span.count; ++j) {
    const T* const row = values.data + j * values.row;
    double sum = 0;
    for (std::int64_t x = 0; x < problem.value_dim; ++x)
      sum += static_cast<double>(row[x]) * static_cast<double>(row[x]);
    task.scratch.value_norms[j] = static_cast<float>(std::sqrt(sum));
  }
  return task.scratch.value_norms;
}

template <typename T>
void begin_rows(const WeightRows& rows, WeightTask<T>& task) {
  const auto flush = flush_to_zero_in(kTypeOf<T>);
  const std::int64_t count = rows.row_end - rows.row_begin;
  task.queries.queries = task.scratch.queries;
  task.queries.rows.set_one(rows.head, rows.row_begin, count);
  task.queries.narrow();
  if (count < kTileRows) task.scratch.clear();
  read_queries<T>(task.problem, rows.batch, task.steps.any(), task.scratch.line, task.queries);
  if (rows.lse == nullptr) return;
  const std::int64_t first = lse_index(task.problem, rows.batch, rows.head, rows.row_begin);
  task.lse.read(static_cast<const T*>(rows.lse) + first,
                static_cast<const T*>(rows.lse_low) + first, count);
}

template <typename T>
void weights_of_keys(const WeightRows& rows, const WantsKeys& wants, const UseTile& use,
                     WeightTask<T>& task) {
  const AttentionProblem& problem = task.problem;
  const std::int64_t kv_head = rows.head / (problem.heads / problem.kv_heads);
  const std::int64_t length = problem.sequences[rows.batch].key_length;
  begin_rows(rows, task);
  for (std::int64_t begin = 0; begin < length; begin += kTileKeys) {
    const KeyRange keys = {begin, std::min(begin + kTileKeys, length)};
    const WantedOfTile wanted = wants(keys.begin, keys.end);
    if (!wanted.any) continue;
    Visible visible;
    visible.look(problem, rows.batch, task.queries.rows, keys);
    if (visible.empty() && !wanted.before_mask) continue;
    const KeySpan span = {rows.batch, kv_head, keys.begin, keys.count()};
    WeightTile tile = compute_tile(task, {rows.batch, keys}, span, wanted, visible);
    if (tile.empty && !wanted.before_mask) continue;
    if (wanted.value_norms) tile.value_norms = measure_values(task, span);
    use(tile);
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
