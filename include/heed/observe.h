// Questions about attention weights that are never stored: one sweep over the tiles, many answers.
// First what an observer is, then the observers that come with heed: each answers one question.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention.h"
#include "heed/tensor.h"

namespace heed {

/// The problem of a sweep, as observers see it.
struct ObservedShape {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t query_length = 0;  // packed: of the longest sequence
  std::int64_t key_length = 0;
  Normaliser normaliser = Normaliser::kSoftmax;
};

/// Up to 64 rows of one (batch, head): query i has position q_offset + i, key j has key_offset + j.
struct ObservedRows {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t key_length = 0;  // in this batch
  std::int64_t q_offset = 0;
  std::int64_t key_offset = 0;
  const double* sink = nullptr;  // the weight of the sink, one per row; null without a sink
};

inline constexpr std::int64_t kObservedKeys = 64;  // maximum keys per tile

/// Rows [begin, end) of one (batch, head).
struct RowSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline constexpr RowSpan kEveryRow = {0, INT64_MAX};

/// What an observer reads of a tile besides the weights; the sweep computes only these parts.
struct TileParts {
  bool log_weights = false;
  bool scores = false;
  bool before_mask = false;  // scores of every pair: fully masked tiles are shown too
  bool value_norms = false;
};

/// One tile of those rows and the keys [key_begin, key_end). Element (i, j) is at
/// [(j - key_begin) * kMaskRows + (i - row_begin)]: one row per vector lane, as in the kernels,
/// 64-byte aligned. Scores are natural logarithms, whatever the normaliser. A part that no observer
/// reads is null.
struct ObservedTile {
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  const float* weights = nullptr;          // before dropout; 0 where masked
  const float* log_weights = nullptr;      // ln of the weights; -inf where masked
  const float* scores = nullptr;           // after softcap, bias and ALiBi; -inf where masked
  const float* before_softcap = nullptr;   // with before_mask: scale * similarity
  const float* before_bias = nullptr;      // with before_mask: after the softcap
  const float* before_mask = nullptr;      // after bias and ALiBi, also at masked pairs
  const float* value_norms = nullptr;      // |v_j|, one per key
  const std::uint64_t* visible = nullptr;  // bit (i - row_begin) of visible[j - key_begin]
};

/// One question. `begin` allocates the answer. For every block of rows, `rows` makes a state and
/// `tile` is called for its non-empty tiles in key order; different blocks run on different
/// threads. `merge` is called for one block at a time in the order (batch, head, rows), so answers
/// do not depend on threads. `finish` ends the sweep. An exception from any of them ends the sweep
/// and leaves `observe`; the answers are then incomplete. They may call heed's operators, and run
/// with the caller's rounding and denormal modes.
class Observer {
 public:
  /// The intermediate results for one block of rows.
  struct State {
    virtual ~State() = default;
  };

  virtual ~Observer() = default;
  virtual std::string_view name() const = 0;
  virtual void begin(const ObservedShape& shape) = 0;
  /// The range of rows that this observer reads (default: all). The sweep skips rows outside every
  /// observer's range, and its blocks begin and end with the remaining rows: one row costs a
  /// quarter of 64.
  virtual RowSpan rows_needed(std::int64_t batch, std::int64_t head) const;
  /// False if this observer reads none of these rows, so that the sweep can skip them.
  virtual bool needs(const ObservedRows& rows) const;
  /// The keys that it reads for those rows (default: all); the sweep covers the union over
  /// observers.
  virtual bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const;
  /// The parts that `tile` reads (default: weights and scores).
  virtual TileParts parts() const { return {.scores = true}; }
  virtual std::unique_ptr<State> rows(const ObservedRows& rows) const = 0;
  virtual void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const = 0;
  virtual void merge(State& state, const ObservedRows& rows) = 0;
  virtual void finish() {}
};

/// Recomputes the weights from q, k and the log-sum-exp, tile by tile, and shows each tile to every
/// observer. Memory: a few tiles and one state per observer and thread, whatever the length. Of
/// `attended` only lse and lse_low are read (default of lse_low: 0). The problem is checked as in
/// `attention`. `args` are those of the forward pass, including its kernel: after `reference`,
/// which computes in double, the sweep also does.
void observe(const AttentionArgs& args, const AttendedConstView& attended,
             std::span<Observer* const> observers);
void observe(const AttentionArgs& args, const Attended& attended,
             std::span<Observer* const> observers);

/// Cotangents of the answers of EntropyObserver and ReceivedObserver; default: 0. Row-major, f32
/// (f64 if q is). Entries past the lengths are not read.
struct ObservedCotangents {
  ConstView dentropy = {};   // [B, H, Tq]
  ConstView dreceived = {};  // [B, H, Tk]
};

/// The gradient of sum_i dentropy_i H_i + sum_j dreceived_j R_j for q, k and whatever else
/// `request` names, with H_i = -sum_j p_ij ln p_ij (and the sink's term) and R_j = sum_i p_ij:
///   c_ij = dreceived_j - dentropy_i ln p_ij,  dz_ij = p_ij (c_ij - sum_k p_ik c_ik).
///
/// Two sweeps over tiles, memory linear in T, every mask and similarity, deterministic. Weights are
/// taken before dropout, so dropout plays no part; nor does v, so dv is 0. `request.dlse` is an
/// error. A weight of 0 contributes 0, like p ln p. The entropy of sigmoid weights has a gradient;
/// with the normaliser none it is an error, like the entropy itself.
/// Reads lse and lse_low of `attended`; computes in double after `reference`, like `observe`.
AttentionGrads observe_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});
AttentionGrads observe_backward(const AttentionArgs& args, const Attended& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});

// -------------------------------------------------------------------------------------------------
// The observers that come with heed.

/// Half-open ranges of heads, rows, keys and batches, by logical index; an end of -1 means all.
struct Region {
  std::int64_t head_begin = 0;
  std::int64_t head_end = -1;
  std::int64_t row_begin = 0;
  std::int64_t row_end = -1;
  std::int64_t key_begin = 0;
  std::int64_t key_end = -1;
  std::int64_t batch_begin = 0;  // packed: indices of sequences
  std::int64_t batch_end = -1;

  /// The same with its ends filled in; throws if it does not fit.
  Region resolved(const ObservedShape& shape) const;
  /// For a resolved region only.
  std::int64_t batches() const { return batch_end - batch_begin; }
  std::int64_t heads() const { return head_end - head_begin; }
  std::int64_t rows() const { return row_end - row_begin; }
  std::int64_t keys() const { return key_end - key_begin; }
  /// The index of a (batch, head) within the region.
  std::int64_t place(const ObservedRows& of) const {
    return (of.batch - batch_begin) * heads() + of.head - head_begin;
  }
  bool meets(const ObservedRows& rows) const;
  RowSpan rows_of(std::int64_t batch, std::int64_t head) const {
    const bool inside =
        batch_begin <= batch && batch < batch_end && head_begin <= head && head < head_end;
    return inside ? RowSpan{row_begin, row_end} : RowSpan{};
  }
  bool meets(std::int64_t begin, std::int64_t end) const {  // keys
    return key_begin < end && begin < key_end;
  }
};

/// Which value of a pair. Weights are 0 where masked and past the lengths; scores, after all their
/// stages, are -inf there. Scores of the three earlier stages are also defined at masked pairs;
/// past the lengths they are -inf.
enum class ObservedValue : std::uint8_t {
  kWeights,
  kScores,
  kBeforeSoftcap,  // scale * similarity
  kBeforeBias,     // after the softcap
  kBeforeMask,     // after bias and ALiBi
};

/// Which array of the tile holds this value.
TileParts parts_of(ObservedValue value);
const float* values_of(const ObservedTile& tile, ObservedValue value);

/// Ascending indices of batches, heads, rows and keys; none: all of them.
struct Selection {
  using Indices = std::optional<std::vector<std::int64_t>>;
  Indices batches = {};
  Indices heads = {};
  Indices rows = {};
  Indices keys = {};
};

/// The values of every selected pair: chosen rows, chosen keys, a region or, by default, the whole
/// matrix (quadratic memory).
class SelectionObserver : public Observer {
 public:
  explicit SelectionObserver(Selection selection = {},
                             ObservedValue value = ObservedValue::kWeights)
      : asked_(std::move(selection)), value_(value) {}
  explicit SelectionObserver(const Region& region, ObservedValue value = ObservedValue::kWeights)
      : asked_of_(region), value_(value) {}
  std::string_view name() const override { return "selection"; }
  void begin(const ObservedShape& shape) override;
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override;
  bool needs(const ObservedRows& rows) const override;
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  TileParts parts() const override { return parts_of(value_); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& /*state*/, const ObservedRows& /*rows*/) override {}

  Tensor values;  // [batches, heads, rows, keys] of the selection, f32

 private:
  float* line(const ObservedRows& rows, std::size_t row) const;

  Selection asked_;
  std::optional<Region> asked_of_;
  ObservedValue value_;
  std::array<std::vector<std::int64_t>, 4> selected_;  // for the observed problem
};

/// The mean of a region's weights over its heads, which are added in order. Memory: one [rows,
/// keys] per batch, quadratic for the default region (everything).
class HeadMeanObserver : public Observer {
 public:
  explicit HeadMeanObserver(const Region& region = {}) : asked_(region) {}
  std::string_view name() const override { return "head_mean"; }
  bool needs(const ObservedRows& rows) const override { return region_.meets(rows); }
  bool needs(const ObservedRows&, std::int64_t begin, std::int64_t end) const override {
    return region_.meets(begin, end);
  }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor mean;  // [batches, rows, keys] of the region, f32; 0 where masked and past the lengths

 private:
  Region asked_;
  Region region_ = {};  // the requested region, resolved for the observed problem
};

/// How the weights of a cell become one number; masked weights count as 0, NaN gives NaN.
enum class Pool : std::uint8_t { kMax, kMean, kSum };

/// The region as height x width cells: cell (y, x) pools the rows [y * rows / height, (y + 1) *
/// rows / height) and the keys [x * keys / width, (x + 1) * keys / width), rounded down. There are
/// at most as many cells as rows or keys.
class HeatmapObserver : public Observer {
 public:
  HeatmapObserver(std::int64_t height, std::int64_t width, Pool pool = Pool::kMax,
                  const Region& region = {});
  std::string_view name() const override { return "heatmap"; }
  bool needs(const ObservedRows& rows) const override;
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor cells;  // [batches, heads, min(height, rows), min(width, keys)] of the region, f32

 private:
  std::int64_t asked_height_;
  std::int64_t asked_width_;
  Pool pool_;
  Region asked_;
  Region region_ = {};  // the requested region, resolved for the observed problem
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t head_ = 0;       // the head being pooled, counted over all batches
  std::vector<double> pooled_;  // [height, width]
};

/// -sum_j p_ij ln p_ij, in nats; 0 for rows without keys and past query_length. NaN weights give
/// NaN.
class EntropyObserver : public Observer {
 public:
  std::string_view name() const override { return "entropy"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {.log_weights = true}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor entropy;  // [B, H, Tq], f32
};

/// sum_j p_ij |p_i - p_j|; 0 for rows without keys and past query_length.
class ExpectedDistanceObserver : public Observer {
 public:
  std::string_view name() const override { return "expected_distance"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor distance;  // [B, H, Tq], f32
};

/// max_j p_ij; 0 for rows without keys and past query_length. NaN weights give NaN.
class RowMaxObserver : public Observer {
 public:
  std::string_view name() const override { return "row_max"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor maximum;  // [B, H, Tq], f32

 private:
  bool signed_ = false;  // weights may be negative: then the weight of masked pairs
};

/// The weight of the sink: 1 less the sum of the row's weights; 0 without a sink and past
/// query_length.
class SinkObserver : public Observer {
 public:
  std::string_view name() const override { return "sink"; }
  bool needs(const ObservedRows& rows) const override { return rows.sink != nullptr; }
  bool needs(const ObservedRows&, std::int64_t, std::int64_t) const override { return false; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows&) const override {
    return std::make_unique<State>();
  }
  void tile(State&, const ObservedRows&, const ObservedTile&) const override {}
  void merge(State& state, const ObservedRows& rows) override;

  Tensor share;  // [B, H, Tq], f32
};

/// The k largest weights of every row, in descending order; ties go to the lower key, NaN comes
/// first. Places beyond the visible keys hold key -1 and weight 0.
class TopKObserver : public Observer {
 public:
  explicit TopKObserver(std::int64_t k);  // k >= 1
  std::string_view name() const override { return "top_k"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor keys;     // [B, H, Tq, k], i64: logical indices
  Tensor weights;  // [B, H, Tq, k], f32

 private:
  std::int64_t k_;
};

/// mass[b, h, i, c] = sum of p_ij over the keys j with class_of_key[j] = c. A key of class -1 is
/// not counted; for a set of keys, use class 0 for its members and -1 for the others.
class MassObserver : public Observer {
 public:
  /// `class_of_key` has one entry per logical key (Tk), from -1 to classes - 1.
  MassObserver(std::vector<std::int32_t> class_of_key, std::int64_t classes);
  std::string_view name() const override { return "mass"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor mass;  // [B, H, Tq, classes], f32

 private:
  std::vector<std::int32_t> class_of_key_;
  std::int64_t classes_;
};

enum class OverHeads : std::uint8_t { kEach, kSum };

/// sum_i p_ij, added in query order in f64, per head or over all heads.
class ReceivedObserver : public Observer {
 public:
  explicit ReceivedObserver(OverHeads heads = OverHeads::kEach) : heads_(heads) {}
  std::string_view name() const override { return "received"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor received;  // [B, H, Tk], or [B, Tk] over all heads; f32

 private:
  OverHeads heads_;
  ObservedShape shape_;
  std::vector<double> sums_;  // like `received`
};

/// The mean weight over the visible pairs at distance d = p_i - p_j, signed, for d in [first,
/// last]: entry d - first. Distance 0 is the query itself, 1 the key before it.
class OffsetProfileObserver : public Observer {
 public:
  OffsetProfileObserver(std::int64_t first, std::int64_t last);  // first <= last, within 2^24 of 0
  std::string_view name() const override { return "offset_profile"; }
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return {}; }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override;

  Tensor mean;   // [B, H, last - first + 1], f32; 0 where no pair has the distance
  Tensor pairs;  // [B, H, last - first + 1], i64: visible pairs at the distance

 private:
  std::int64_t first_;
  std::int64_t count_ = 0;
  ObservedShape shape_;
  std::vector<double> sums_;
};

/// Shows another observer p_ij |v_j| instead of p_ij (Kobayashi et al. 2020, "Attention is not only
/// a weight"); v is before any output projection. Works with every observer except entropy, which
/// reads logarithms. `weighted` keeps the answers and must live as long as this.
class ValueNormObserver : public Observer {
 public:
  explicit ValueNormObserver(Observer& weighted) : weighted_(weighted) {}
  std::string_view name() const override { return "value_norm"; }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return weighted_.rows_needed(batch, head);
  }
  bool needs(const ObservedRows& rows) const override { return weighted_.needs(rows); }
  bool needs(const ObservedRows& rows, std::int64_t begin, std::int64_t end) const override {
    return weighted_.needs(rows, begin, end);
  }
  TileParts parts() const override;
  void begin(const ObservedShape& shape) override;
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;
  void finish() override { weighted_.finish(); }

 private:
  Observer& weighted_;
};

}  // namespace heed
