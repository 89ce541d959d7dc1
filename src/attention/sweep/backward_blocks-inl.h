// The tasks of a backward pass: blocks of keys, blocks of a bias's gradient, and the work per row
// before and after them. Included once for each target.
#if defined(HEED_SWEEP_BACKWARD_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_BACKWARD_BLOCKS_INL_H
#undef HEED_SWEEP_BACKWARD_BLOCKS_INL_H
#else
#define HEED_SWEEP_BACKWARD_BLOCKS_INL_H
#endif

#include <cmath>

#include "attention/sweep/backward-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Does the work of `weigh_patch`, `through_normaliser` and `through_steps` for kVectors pairs of a
/// key if a score is the plain product. `word`: the rows that see the key.
template <int kVectors, typename T>
HWY_INLINE void differentiate_pairs(const BackwardScratch<T>& s, Vec<T> scale, bool partial,
                                    std::uint64_t word, int lane, T* scores, T* changes) {
  const Tag<T> d;
  Vec<T> p[kVectors];
  weigh_scores(*s.lse, lane, scores, p);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int at = v * kLanes<T>;
    const auto beyond = hn::Sub(hn::Load(d, changes + at), hn::Load(d, s.delta + lane + at));
    auto ds = hn::Mul(hn::Mul(scale, p[v]), beyond);
    if (partial) {
      const auto seen = kernels::HWY_NAMESPACE::mask_lanes(d, word, lane + at);
      p[v] = hn::IfThenElseZero(seen, p[v]);
      ds = hn::IfThenElseZero(seen, ds);
    }
    hn::Store(p[v], d, scores + at);
    hn::Store(ds, d, changes + at);
  }
}

template <typename T>
void differentiate_plain(const BackwardTile<T>& tile, const Patch<T>& patch) {
  const BackwardScratch<T>& s = tile.s;
  const auto scale = hn::Set(Tag<T>(), static_cast<T>(tile.problem().scale[tile.head]));
  const Patch<T> changes = in(patch, s.dscores);
  const bool partial = tile.visible().partial();
  for (std::int64_t j = 0; j < patch.keys; ++j) {
    const std::uint64_t word = partial ? tile.visible().words[patch.key_begin + j] : 0;
    T* const score = patch.data + j * patch.stride;
    T* const change = changes.data + j * changes.stride;
    for_vectors_together<T>(
        patch.vectors, [&](int v, auto count) HWY_ATTR __attribute__((always_inline)) {
          const int at = v * static_cast<int>(kLanes<T>);
          differentiate_pairs<decltype(count)::value>(s, scale, partial, word, patch.lane + at,
                                                      score + at, change + at);
        });
  }
}

template <typename T>
void look_for_infinities(BackwardTile<T>& tile) {
  if (!tile.visible().partial()) return;
  const BackwardScratch<T>& s = tile.s;
  tile.rows_finite =
      rows_are_finite(s.queries, tile.rows, s.width) &&
      (tile.job.observed != nullptr || rows_are_finite(s.douts, tile.rows, s.value_width));
  tile.keys_finite = all_finite(s.k, tile.keys() * s.width);
}

/// From scores to cotangents of similarities.
template <typename T>
void differentiate_patch(const BackwardTile<T>& tile, const Patch<T>& patch) {
  if (!tile.plain()) {
    weigh_again(tile, patch);
    through_normaliser(tile, patch);
    return through_steps(tile, in(patch, tile.s.dscores));
  }
  score_patch(tile, patch);
  weight_cotangents(tile, patch);
  differentiate_plain(tile, patch);
}

/// Keys that `grouped_tile` takes at once: few where L1 does not hold their weights beside the rows
/// of K, and in a partial tile, since only rows that see one of them are computed.
template <typename T>
std::int64_t keys_at_once(const BackwardTile<T>& tile) {
  constexpr std::int64_t kMostColumns = 96;
  constexpr std::int64_t kFew = kDown<kStripVectors>;
  if (!tile.visible().partial() && tile.problem().head_dim <= kMostColumns) return kTileKeys;
  return tile.problem().dropout.threshold != 0 ? 2 * kFew : kFew;  // it draws for four keys at once
}

/// A tile whose keys need nothing of one another.
template <typename T>
void grouped_tile(BackwardTile<T>& tile) {
  const std::int64_t group = keys_at_once(tile);
  BackwardScratch<T>& s = tile.s;
  look_for_infinities(tile);
  for (std::int64_t j = 0; j < tile.keys(); j += group) {
    const std::int64_t count = std::min(group, tile.keys() - j);
    const VectorRange range = range_of(tile, j, count);
    for_patches(range, j, count, s.weights,
                [&](const Patch<T>& patch) HWY_ATTR { differentiate_patch(tile, patch); });
    clear_outside(tile, range, j, count);
    add_to_keys(tile, range, j, count, s.weights);
  }
}

/// Adds the cotangents of a tile's scores to dbias.
template <typename T>
void add_to_bias(const BackwardTile<T>& tile) {
  const Output& to = tile.job.backward.dbias;
  const bool shared = tile.job.bias_turns != nullptr;
  T lines[4][kTileKeys];
  for (std::int64_t i = 0; i < tile.rows; i += 4) {
    const std::int64_t rows = std::min<std::int64_t>(4, tile.rows - i);
    const T* const first = tile.s.dscores + i;
    for (std::int64_t j = 0; j < tile.keys(); j += 4)
      rows_to_lanes(static_cast<int>(std::min<std::int64_t>(4, tile.keys() - j)),
                    first + j * kTileRows, kTileRows, rows, T{1}, &lines[0][j], kTileKeys);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t offset = tile.at.batch * to.batch + tile.head * to.head +
                                  (tile.row + i + r) * to.row + tile.at.keys.begin * to.column;
      if (shared) {  // then dbias has type T
        const T* const before = static_cast<const T*>(to.data) + offset;
        for (std::int64_t key = 0; key < tile.keys(); ++key)
          lines[r][key] += before[key * to.column];
      }
      store_numbers(to, offset, tile.keys(), lines[r]);
    }
  }
}

/// How many tiles must be added to the same part of dbias before this one.
inline std::int64_t bias_turn(const BackwardJob& job, std::int64_t batch, std::int64_t head,
                              std::int64_t row, std::int64_t key) {
  const bool* sums = job.backward.dbias_sums;
  std::int64_t earlier = 0;  // batches that are at least this long
  for (std::int64_t b = 0; sums[0] && b < batch; ++b) {
    const Sequence& sequence = job.problem.sequences[b];
    if (sequence.query_length > row && sequence.key_length > key) ++earlier;
  }
  return sums[1] ? earlier * job.problem.heads + head : earlier;
}

/// Called once per tile of the sweep, in the order of (batch, head) if tiles share a part of dbias;
/// `empty`: no pair is visible.
template <typename T>
void bias_gradient(const BackwardTile<T>& tile, bool empty) {
  const BackwardJob& job = tile.job;
  if (!job.bias_in_sweep) return;
  const bool* sums = job.backward.dbias_sums;
  const std::int64_t heads = sums[1] ? 1 : job.problem.heads;
  const std::int64_t matrix = (sums[0] ? 0 : tile.at.batch) * heads + (sums[1] ? 0 : tile.head);
  const std::int64_t row_block = matrix * job.row_blocks() + tile.row / kTileRows;
  const std::int64_t place = row_block * job.key_blocks() + tile.at.keys.begin / kTileKeys;
  const Turn turn(job.bias_turns == nullptr ? nullptr : job.bias_turns + place,
                  bias_turn(job, tile.at.batch, tile.head, tile.row, tile.at.keys.begin));
  if (!empty) add_to_bias(tile);
}

/// A tile of any form.
template <typename T>
void general_tile(BackwardTile<T>& tile) {
  BackwardScratch<T>& s = tile.s;
  const BackwardJob& job = tile.job;
  const VectorRange range = range_of(tile, 0, tile.keys());
  const auto each = [&](T* pairs, const auto& act)
                        HWY_ATTR { for_patches(range, 0, tile.keys(), pairs, act); };
  each(s.weights, [&](const Patch<T>& patch) HWY_ATTR { weigh_again(tile, patch); });
  each(s.weights, [&](const Patch<T>& patch) HWY_ATTR { through_normaliser(tile, patch); });
  look_for_infinities(tile);
  clear_outside(tile, range, 0, tile.keys());
  bias_gradient(tile, false);
  if (job.sums != nullptr) {
    const TileSums sums = sum_tile(tile);
    TileSums& total = job.sums[(tile.at.batch * job.problem.heads + tile.head) * job.key_blocks() +
                               tile.at.keys.begin / kTileKeys];
    total = {total.slope + sums.slope, total.scale + sums.scale};
  }
  each(s.dscores, [&](const Patch<T>& patch) HWY_ATTR { through_steps(tile, patch); });
  add_to_keys(tile, range, 0, tile.keys(), s.weights);
}

/// Contributions of a group's key blocks to a block of rows of dq, in order; only of blocks that
/// the rows see.
template <typename T>
struct QueryShares {
  const T* parts[kMostKeyBlocks];
  int count = 0;

  void add(const T* part) { parts[count++] = part; }
};

/// Contributions of the first group are written, the others added one by one, so that grouping does
/// not change the result.
template <typename T>
void add_query_gradients(const BackwardTile<T>& tile, std::int64_t group,
                         const QueryShares<T>& shares) {
  const BackwardJob& job = tile.job;
  const std::int64_t turn =
      (tile.at.batch * job.problem.heads + tile.head) * job.row_blocks() + tile.row / kTileRows;
  const Turn mine(job.dq_turns == nullptr ? nullptr : job.dq_turns + turn, group);
  const bool first = group == 0;
  if (!first && shares.count == 0) return;
  const std::int64_t slot = job.problem.sequences[tile.at.batch].query_begin + tile.row;
  T* out = static_cast<T*>(job.dq.data) + tile.at.batch * job.dq.batch + tile.head * job.dq.head +
           slot * job.dq.row;
  const Tag<T> d;
  for (std::int64_t r = 0; r < tile.rows; ++r, out += job.dq.row) {
    const std::int64_t line = r * tile.s.width;
    std::int64_t x = 0;
    for (; job.dq.column == 1 && x + kLanes<T> <= job.problem.head_dim; x += kLanes<T>) {
      auto sum = first ? hn::Zero(d) : hn::LoadU(d, out + x);
      for (int i = 0; i < shares.count; ++i)
        sum = hn::Add(sum, hn::Load(d, shares.parts[i] + line + x));
      hn::StoreU(sum, d, out + x);
    }
    for (; x < job.problem.head_dim; ++x) {
      T& to = out[x * job.dq.column];
      if (first) to = 0;
      for (int i = 0; i < shares.count; ++i) to += shares.parts[i][line + x];
    }
  }
}

/// A block of rows and the key blocks of a group.
template <typename T>
void row_block_backward(BackwardTask<T>& task, const BlockPlace& place, std::int64_t blocks) {
  BackwardTile<T>& tile = task.tile;
  const BackwardJob& job = tile.job;
  QueryShares<T> shares;
  for (std::int64_t block = 0; block < blocks; ++block) {
    tile.s.move_to_block(block);
    task.move_to_keys(place.batch, (place.key_block + block) * kTileKeys);
    if (!begin_tile(tile)) {
      bias_gradient(tile, true);
      continue;
    }
    if (tile.grouped())
      grouped_tile(tile);
    else
      general_tile(tile);
    if (job.dq.data == nullptr) continue;
    query_gradients(tile);
    shares.add(tile.s.dq);
  }
  if (job.dq.data != nullptr) add_query_gradients(tile, place.key_block / job.key_group, shares);
}

/// k and v of a block, in a form that products read in whole vectors.
template <typename T>
void read_key_block(const BackwardTile<T>& tile, std::int64_t kv_head) {
  const AttentionProblem& problem = tile.problem();
  const KeySpan span = {tile.at.batch, kv_head, tile.at.keys.begin, tile.keys()};
  kernels::HWY_NAMESPACE::load_keys(problem, keys_of(problem), span, tile.s.width, tile.s.k);
  if (problem.score.similarity == Similarity::kCosine)
    normalise_rows(span.count, problem.head_dim, tile.s.width, tile.s.k, tile.s.key_norms);
  if constexpr (kHasPairs<T>)
    if (tile.in_pairs()) {
      load_pairs_of_columns(problem, keys_of(problem), span, tile.s.pairs_width, tile.s.k_pairs);
      pack_lines(span.count, tile.s.k, tile.s.width, tile.s.width, tile.s.k_by_key, tile.s.width);
      return load_pairs_of_columns(problem, values_of(problem), span,
                                   whole_lines(pairs_of(problem.value_dim)), tile.s.v);
    }
  if (tile.job.observed == nullptr)
    kernels::HWY_NAMESPACE::load_keys(problem, values_of(problem), span, tile.s.value_width,
                                      tile.s.v);
}

template <typename T>
void store_key_gradients(const BackwardTile<T>& tile, std::int64_t kv_head) {
  const AttentionProblem& problem = tile.problem();
  const BackwardScratch<T>& s = tile.s;
  const AttentionBackward& backward = tile.job.backward;
  const std::int64_t slot = problem.sequences[tile.at.batch].key_begin + tile.at.keys.begin;
  const auto at = [&](const Output& to, std::int64_t j) {
    return tile.at.batch * to.batch + kv_head * to.head + (slot + j) * to.row;
  };
  for (std::int64_t j = 0; j < tile.keys(); ++j) {
    T* const dk = s.dk + j * s.width;
    if (problem.score.similarity == Similarity::kCosine)
      through_norm(s.k + j * s.width, s.key_norms[j], problem.head_dim, dk);
    if (backward.dk.data != nullptr)
      store_line(backward.dk, at(backward.dk, j), problem.head_dim, dk, T{1}, false);
    if (backward.dv.data != nullptr)
      store_line(backward.dv, at(backward.dv, j), problem.value_dim, s.dv + j * s.value_width, T{1},
                 false);
  }
}

template <typename T>
void key_group_backward(const BackwardJob& job, const BlockPlace& place, void* memory) {
  BackwardTask<T> task(job, memory);
  BackwardTile<T>& tile = task.tile;
  const Sequence& sequence = job.problem.sequences[place.batch];
  const std::int64_t blocks =
      std::min(job.key_group, blocks_of(sequence.key_length) - place.key_block);
  const auto for_blocks = [&](const auto& act) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      tile.s.move_to_block(block);
      task.move_to_keys(place.batch, (place.key_block + block) * kTileKeys);
      act();
    }
  };
  for_blocks([&] {
    read_key_block(tile, place.head);
    std::fill_n(tile.s.dk, tile.keys() * tile.s.width, T{0});
    std::fill_n(tile.s.dv, tile.keys() * tile.s.value_width, T{0});
  });
  const std::int64_t end = std::min((place.head + 1) * job.group(), job.problem.heads);
  for (std::int64_t head = place.head * job.group(); head < end; ++head)
    for (std::int64_t row = 0; row < sequence.query_length; row += kTileRows) {
      task.move_to_rows(place.batch, head, row);
      row_block_backward(task, place, blocks);
    }
  for_blocks([&] { store_key_gradients(tile, place.head); });
}

/// The gradient of a bias that is broadcast over rows or keys: a task owns a block of dbias and
/// visits every tile that adds to it, in order. That costs two more products, but needs neither a
/// [Tq, Tk] temporary nor waiting, and gives the same bits for any number of threads.
template <typename T>
class BiasBlock {
 public:
  BiasBlock(const BackwardJob& job, void* memory) : job_(job), task_(job, memory) {}

  void run(const BlockPlace& at) {
    const bool* sums = job_.backward.dbias_sums;
    std::fill_n(total_, kTileRows * kTileKeys, 0.0);
    const auto range = [](bool summed, std::int64_t index, std::int64_t count) {
      return KeyRange{summed ? 0 : index, summed ? count : index + 1};
    };
    const KeyRange batches = range(sums[0], at.batch, job_.problem.batch);
    const KeyRange heads = range(sums[1], at.head, job_.problem.heads);
    const KeyRange rows = range(sums[2], at.row_block, job_.row_blocks());
    const KeyRange keys = range(sums[3], at.key_block, job_.key_blocks());
    for (std::int64_t b = batches.begin; b < batches.end; ++b)
      for (std::int64_t h = heads.begin; h < heads.end; ++h)
        for (std::int64_t row = rows.begin; row < rows.end; ++row)
          for (std::int64_t key = keys.begin; key < keys.end; ++key)
            add(b, h, row * kTileRows, key * kTileKeys);
    store(at);
  }

 private:
  void add(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
    BackwardTile<T>& tile = task_.tile;
    task_.move_to_keys(b, key);
    task_.move_to_rows(b, h, row);
    if (tile.rows <= 0 || tile.keys() <= 0 || !begin_tile(tile)) return;
    read_key_block(tile, h / job_.group());
    differentiate(tile);
    const bool* sums = job_.backward.dbias_sums;
    for (std::int64_t j = 0; j < tile.keys(); ++j)
      for (std::int64_t i = 0; i < tile.rows; ++i)
        total_[(sums[3] ? 0 : j) * kTileRows + (sums[2] ? 0 : i)] +=
            static_cast<double>(tile.s.dscores[j * kTileRows + i]);
  }

  void store(const BlockPlace& at) const {
    const Output& to = job_.backward.dbias;
    const bool* sums = job_.backward.dbias_sums;
    const std::int64_t row = at.row_block * kTileRows;
    const std::int64_t key = at.key_block * kTileKeys;
    const std::int64_t rows = sums[2] ? 1 : std::min(kTileRows, job_.problem.query_length - row);
    const std::int64_t keys = sums[3] ? 1 : std::min(kTileKeys, job_.problem.key_length - key);
    double line[kTileKeys];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) line[j] = total_[j * kTileRows + i];
      store_numbers(to,
                    at.batch * to.batch + at.head * to.head + (row + i) * to.row + key * to.column,
                    keys, line);
    }
  }

  const BackwardJob& job_;
  BackwardTask<T> task_;
  double total_[kTileRows * kTileKeys];
};

/// Loads numbers of any type as double.
HWY_INLINE Vec<double> load_wide(const float* from) {
  const Tag<double> wide;
  return hn::PromoteTo(wide, hn::LoadU(hn::Rebind<float, Tag<double>>(), from));
}
HWY_INLINE Vec<double> load_wide(const double* from) { return hn::LoadU(Tag<double>(), from); }

/// sum_d out dout of one row; 0 if its out is 0, whatever its dout: such a row has no visible key.
/// `lines`: memory for [3][whole_lines(Dv)], whose padding is 0.
template <typename T>
double out_times_dout(const BackwardJob& job, const BlockPlace& at, std::int64_t slot, T* lines) {
  const std::int64_t columns = job.problem.value_dim;
  const std::int64_t width = whole_lines(columns);
  // Reads whole vectors in place if the row already has the required layout.
  const auto read = [&](const Input& from, T* copy) -> const T* {
    const std::int64_t offset = at.batch * from.batch + at.head * from.head + slot * from.row;
    if (from.dtype == kTypeOf<T> && from.column == 1 && columns == width)
      return static_cast<const T*>(from.data) + offset;
    kernels::HWY_NAMESPACE::load_line(from, offset, from.column, columns, copy);
    return copy;
  };
  const T* out = read(job.backward.out, lines);
  const T* const dout = read(job.backward.dout, lines + width);
  if (job.backward.out_low.data != nullptr) {
    const T* const low = read(job.backward.out_low, lines + 2 * width);
    for (std::int64_t d = 0; d < columns; ++d) lines[d] = out[d] + low[d];
    out = lines;
  }
  const Tag<double> wide;
  auto sum = hn::Zero(wide);
  auto any = hn::Ne(sum, sum);
  for (std::int64_t d = 0; d < width; d += kLanes<double>) {
    const auto x = load_wide(out + d);
    any = hn::Or(any, hn::Ne(x, hn::Zero(wide)));
    sum = hn::MulAdd(x, load_wide(dout + d), sum);
  }
  return hn::AllFalse(wide, any) ? 0 : hn::GetLane(hn::SumOfLanes(wide, sum));
}

template <typename T>
void prepare_head(const BackwardJob& job, const BlockPlace& at, void* memory) {
  const AttentionProblem& problem = job.problem;
  const Sequence& sequence = problem.sequences[at.batch];
  Arena arena(memory);
  T* const lines = BackwardScratch<T>(job, arena).dout_rows;
  std::fill_n(lines, 3 * whole_lines(problem.value_dim), T{0});
  const auto* dlse = static_cast<const T*>(job.backward.dlse);
  for (std::int64_t i = 0; i < sequence.query_length; ++i) {
    double sum = out_times_dout(job, at, sequence.query_begin + i, lines);
    const std::int64_t index = lse_index(problem, at.batch, at.head, i);
    if (dlse != nullptr) sum -= static_cast<double>(dlse[index]);
    static_cast<T*>(job.delta)[index] = static_cast<T>(sum);
  }
}

/// sum_j p dp for the rows of a block, if observers give dp, less the sink's term.
template <typename T>
void prepare_observed(const BackwardJob& job, const BlockPlace& place, void* memory) {
  const AttentionProblem& problem = job.problem;
  const Sequence& sequence = problem.sequences[place.batch];
  BackwardTask<T> task(job, memory);
  BackwardTile<T>& tile = task.tile;
  task.move_to_rows(place.batch, place.head, place.row_block * kTileRows);
  if (tile.rows <= 0) return;
  T* const delta =
      static_cast<T*>(job.delta) + lse_index(problem, place.batch, place.head, tile.row);
  std::fill_n(delta, tile.rows, T{0});
  double sums[kTileRows] = {};
  for (std::int64_t key = 0; key < sequence.key_length; key += kTileKeys) {
    task.move_to_keys(place.batch, key);
    if (!begin_tile(tile)) continue;
    read_key_block(tile, place.head / job.group());
    for_patches(VectorRange{0, tile.vectors()}, 0, tile.keys(), tile.s.weights,
                [&](const Patch<T>& patch) HWY_ATTR { weigh_again(tile, patch); });
    for (std::int64_t j = 0; j < tile.keys(); ++j)
      for (std::int64_t i = 0; i < tile.rows; ++i) {
        if (tile.visible().partial() && (tile.visible().words[j] >> i & 1) == 0) continue;
        sums[i] += static_cast<double>(tile.s.weights[j * kTileRows + i]) *
                   static_cast<double>(tile.s.dscores[j * kTileRows + i]);
      }
  }
  for (std::int64_t i = 0; i < tile.rows; ++i)
    delta[i] = static_cast<T>(sums[i] + sink_share(job, place.batch, place.head, tile.row + i));
}

/// Copies a head's rows of dq from the memory where they were summed to the caller's; for the
/// cosine, through their norms.
template <typename T>
void finish_head(const BackwardJob& job, const BlockPlace& at, void* memory) {
  const AttentionProblem& problem = job.problem;
  const Sequence& sequence = problem.sequences[at.batch];
  Arena arena(memory);
  BackwardScratch<T> scratch(job, arena);
  const Output& to = job.backward.dq;
  const bool cosine = problem.score.similarity == Similarity::kCosine;
  for (std::int64_t row = 0; row < query_room(problem, at.batch); ++row) {
    const std::int64_t slot = sequence.query_begin + row;
    T* const line = static_cast<T*>(job.dq.data) + at.batch * job.dq.batch + at.head * job.dq.head +
                    slot * job.dq.row;
    if (cosine && row < sequence.query_length) {
      const Input& q = problem.q;
      kernels::HWY_NAMESPACE::load_line(q, at.batch * q.batch + at.head * q.head + slot * q.row,
                                        q.column, problem.head_dim, scratch.query_rows);
      normalise_rows(1, problem.head_dim, scratch.width, scratch.query_rows, scratch.query_norms);
      through_norm(scratch.query_rows, scratch.query_norms[0], problem.head_dim, line);
    }
    store_line(to, at.batch * to.batch + at.head * to.head + slot * to.row, problem.head_dim, line,
               T{1}, false);
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
