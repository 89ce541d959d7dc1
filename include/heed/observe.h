// Questions about attention weights that are never stored: one sweep over the tiles, many answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "heed/attention.h"

namespace heed {

/// The problem that a sweep goes over, as observers see it.
struct ObservedShape {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t query_length = 0;  // packed: of the longest sequence
  std::int64_t key_length = 0;
  Normaliser normaliser = Normaliser::kSoftmax;
};

/// Up to 64 rows of one (batch, head): query i stands at position q_offset + i, key j at key_offset
/// + j.
struct ObservedRows {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t key_length = 0;  // of this batch
  std::int64_t q_offset = 0;
  std::int64_t key_offset = 0;
  const double* sink = nullptr;  // the weight of the sink, one a row; null without one
};

inline constexpr std::int64_t kObservedKeys = 64;  // of a tile, at most

/// Rows [begin, end) of one (batch, head).
struct RowSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
inline constexpr RowSpan kEveryRow = {0, INT64_MAX};

/// What an observer reads of a tile besides the weights; the sweep computes only what is read.
struct TileParts {
  bool log_weights = false;
  bool scores = false;
  bool before_mask = false;  // scores of every pair: tiles that are masked as a whole are shown too
  bool value_norms = false;
};

/// One tile of those rows against the keys [key_begin, key_end). Element (i, j) lies at
/// [(j - key_begin) * kMaskRows + (i - row_begin)]: one row a lane, as the kernels have it, 64-byte
/// aligned. Scores are natural, whatever the normaliser. What nobody reads is null.
struct ObservedTile {
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;
  const float* weights = nullptr;          // before dropout; 0 where masked
  const float* log_weights = nullptr;      // ln of the weights; -inf where masked
  const float* scores = nullptr;           // after softcap, bias and ALiBi; -inf where masked
  const float* before_softcap = nullptr;   // with before_mask: scale * similarity
  const float* before_bias = nullptr;      // with before_mask: after the softcap
  const float* before_mask = nullptr;      // after bias and ALiBi, at masked pairs too
  const float* value_norms = nullptr;      // |v_j|, one a key
  const std::uint64_t* visible = nullptr;  // bit (i - row_begin) of visible[j - key_begin]
};

/// One question. `begin` allocates the answer; then, for every block of rows, `rows` makes a state,
/// `tile` is called for its tiles in key order (not for empty ones), on several threads for
/// different blocks; `merge` is called for one block at a time in the order (batch, head, rows), so
/// answers do not depend on threads; `finish` ends. What one of them throws ends the sweep and
/// comes out of `observe`; the answers are then incomplete. They may call heed's operators, and run
/// with the caller's rounding and treatment of denormals.
class Observer {
 public:
  /// The intermediate results of one block of rows.
  struct State {
    virtual ~State() = default;
  };

  virtual ~Observer() = default;
  virtual std::string_view name() const = 0;
  virtual void begin(const ObservedShape& shape) = 0;
  /// The rows outside of which it needs nothing (default: none are). The sweep leaves out the rows
  /// that lie outside of every observer's, and blocks begin and end with those that are left: one
  /// row costs a quarter of 64.
  virtual RowSpan rows_needed(std::int64_t batch, std::int64_t head) const;
  /// False when this observer needs nothing of these rows, so that the sweep can skip them.
  virtual bool needs(const ObservedRows& rows) const;
  /// The keys it needs of those rows (default: all); the sweep covers the union over observers.
  virtual bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const;
  /// The parts that `tile` reads (default: weights and scores).
  virtual TileParts parts() const { return {.scores = true}; }
  virtual std::unique_ptr<State> rows(const ObservedRows& rows) const = 0;
  virtual void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const = 0;
  virtual void merge(State& state, const ObservedRows& rows) = 0;
  virtual void finish() {}
};

/// Recomputes the weights from q, k and the log-sum-exp, tile by tile, and shows each tile to every
/// observer. Memory: a few tiles and one state per observer a thread, whatever the length.
/// `attended` needs lse and lse_low only (lse_low not given: 0). The problem is checked as
/// `attention` checks it. `args` are those of the forward pass, with its kernel: after `reference`,
/// which computes in double, so does the sweep.
void observe(const AttentionArgs& args, const AttendedConstView& attended,
             std::span<Observer* const> observers);
void observe(const AttentionArgs& args, const Attended& attended,
             std::span<Observer* const> observers);

/// Cotangents of EntropyObserver's and ReceivedObserver's answers; not given: 0. Row-major, f32
/// (f64 where q is). Entries past the lengths are not read.
struct ObservedCotangents {
  ConstView dentropy = {};   // [B, H, Tq]
  ConstView dreceived = {};  // [B, H, Tk]
};

/// d(sum_i dentropy_i H_i + sum_j dreceived_j R_j) by q, k and what else `request` names, with
/// H_i = -sum_j p_ij ln p_ij (and the sink's term) and R_j = sum_i p_ij:
///   c_ij = dreceived_j - dentropy_i ln p_ij,  dz_ij = p_ij (c_ij - sum_k p_ik c_ik).
///
/// Two sweeps over tiles, memory linear in T, every mask and similarity, deterministic. Weights are
/// those before dropout, so it has no part in this; v has none either, so dv is 0. `request.dlse`
/// does not belong here: an error. A weight of 0 gives nothing, as p ln p does. The entropy of
/// sigmoid weights has a gradient, that of none is an error, as the entropy is.
/// Reads lse and lse_low of `attended`; in double after `reference`, as `observe` does.
AttentionGrads observe_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});
AttentionGrads observe_backward(const AttentionArgs& args, const Attended& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request = {});

}  // namespace heed
