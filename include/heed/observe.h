// Questions about attention weights that are never stored: one sweep over the tiles, many answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "heed/attention.h"

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

}  // namespace heed
