// Questions about weights that are never stored: one sweep over the tiles, many answers.
#ifndef HEED_C_OBSERVE_H
#define HEED_C_OBSERVE_H

#include "heed/c/attention.h"

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

/// What is asked, and the shape of its answer. R stands for the batches, heads, rows and keys of
/// `region`.
enum {
  HEED_OBSERVE_WEIGHTS = 1,  // [B, H, Tq, Tk]; quadratic
  HEED_OBSERVE_REGION = 2,   // [R batches, R heads, R rows, R keys]: `value` of each pair
  HEED_OBSERVE_ROWS = 3,     // [B, heads, n, Tk]: `value` of the chosen rows, against all keys
  HEED_OBSERVE_COLUMNS = 4,  // [B, heads, Tq, n]: of the chosen keys, as all rows see them
  HEED_OBSERVE_HEATMAP = 5,  // [R batches, R heads, height, width], at most one cell a row and key
  HEED_OBSERVE_HEAD_MEAN = 6,  // [R batches, R rows, R keys]: the mean over the region's heads
  HEED_OBSERVE_ENTROPY = 7,    // [B, H, Tq]: -sum p ln p, in nats
  HEED_OBSERVE_ROW_MAX = 8,    // [B, H, Tq]: the largest weight
  HEED_OBSERVE_TOP_K = 9,      // [B, H, Tq, k]: the k largest weights of a row, falling; their
                               // keys, i64, in `second`; past the visible keys weight 0, key -1
  HEED_OBSERVE_RECEIVED = 10,  // [B, H, Tk]: sum over queries; with sum_heads [B, Tk]
  HEED_OBSERVE_SINK = 11,      // [B, H, Tq]: the weight of the sink
  HEED_OBSERVE_MASS = 12,      // [B, H, Tq, classes]: the weight on each class of keys
  HEED_OBSERVE_EXPECTED_DISTANCE = 13,  // [B, H, Tq]: sum p |p_i - p_j|
  HEED_OBSERVE_OFFSET_PROFILE = 14  // [B, H, last - first + 1]: the mean weight at the distance p_i
                                    // - p_j; how many pairs there are, i64, in `second`
};

/// Which value of a pair HEED_OBSERVE_REGION, _ROWS and _COLUMNS give.
enum {
  HEED_VALUE_WEIGHTS = 0,         // before dropout; 0 where masked
  HEED_VALUE_SCORES = 1,          // z after all stages; -inf where masked
  HEED_VALUE_BEFORE_SOFTCAP = 2,  // scale * similarity, at masked pairs too
  HEED_VALUE_BEFORE_BIAS = 3,     // after the softcap, likewise
  HEED_VALUE_BEFORE_MASK = 4      // after bias and ALiBi, likewise
};

/// How the weights of a cell become one number.
enum { HEED_POOL_MAX = 0, HEED_POOL_MEAN = 1, HEED_POOL_SUM = 2 };

/// Half-open ranges of heads, queries and keys; an end of 0 or -1 is the last. It does not grow.
typedef struct heed_region {
  int64_t head_begin, head_end;
  int64_t row_begin, row_end;
  int64_t key_begin, key_end;
} heed_region;

/// One question; which fields it reads stands behind them. Answers are f32 unless said otherwise,
/// in memory of the caller's with any strides that overlaps nothing.
typedef struct heed_observation {
  size_t size;
  int32_t kind;               // HEED_OBSERVE_ENTROPY, ...
  int32_t value;              // REGION, ROWS, COLUMNS: HEED_VALUE_WEIGHTS, ...
  int32_t pool;               // HEATMAP: HEED_POOL_MAX, ...
  int32_t sum_heads;          // RECEIVED: 1 adds the heads up
  int32_t by_value_norm;      // any but ENTROPY: 1 puts p_ij |v_j| in the place of p_ij
  int32_t reserved;           // 0
  heed_region region;         // REGION, HEATMAP, HEAD_MEAN
  int64_t height, width;      // HEATMAP
  int64_t k;                  // TOP_K
  int64_t first, last;        // OFFSET_PROFILE
  heed_integers chosen;       // ROWS, COLUMNS: queries, keys, rising
  heed_integers heads;        // ROWS, COLUMNS: of which heads, rising; none: of all
  heed_integers key_classes;  // MASS: the class of each of the Tk keys; -1: none
  int64_t classes;            // MASS: how many there are
  heed_view answer;
  heed_view second;                // TOP_K, OFFSET_PROFILE; may be left out
  int64_t batch_begin, batch_end;  // REGION, HEATMAP, HEAD_MEAN: of the region; an end of 0 or -1
                                   // is the last
} heed_observation;

static inline heed_observation heed_observation_of(int32_t kind, heed_view answer) {
  heed_observation asked;
  memset(&asked, 0, sizeof asked);
  asked.size = sizeof asked;
  asked.kind = kind;
  asked.answer = answer;
  return asked;
}

/// Recomputes weights from q, k and the log-sum-exp, only where an answer needs them, and answers
/// `count` questions in one sweep. `args` are those of the forward pass; of `attended` only lse and
/// lse_low are read. Memory: a few tiles and the answers; deterministic, as attention is.
HEED_API heed_status heed_observe(const heed_attention_args* args, const heed_attended* attended,
                                  const heed_observation* const* observations, int64_t count);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
