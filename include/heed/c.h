// heed for C, and for every language that calls C: attention, its gradients, and every question
// about its weights. Link -lheed_c (pkg-config heed-c; CMake: heed::c). docs/c.md has the whole.
//
// Every function returns a code, HEED_OK or what went wrong, and heed_last_error says the rest. No
// exception leaves the library, nothing is printed, and the process is never ended. The caller owns
// all memory that results are written to. Everything may be called from several threads at once.
//
// Structs: all bytes 0 is the default of every field but `size`, which holds sizeof of the struct;
// that is how the library knows which fields the caller's heed.h had. Fields named enumerations are
// int32_t, so that their size depends on no compiler.
//
// ABI: within one soname (libheed_c.so.0) functions, enumerators and fields at the end of structs
// are added, never changed or removed: a program that linked an older heed goes on unchanged.
#ifndef HEED_C_H
#define HEED_C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// NOLINTBEGIN(readability-identifier-naming): names as C writes them
#ifdef __cplusplus
extern "C" {
#endif

// -------------------------------------------------------------------------------------------------
// Errors of the C interface: a code from every function, and the words for it.

#define HEED_API __attribute__((visibility("default")))

/// What a function returns.
typedef int32_t heed_status;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1,  // shapes, types, ranges; a pointer that is null
  HEED_UNSUPPORTED = 2,       // legal, but this library does not serve it
  HEED_NOT_FOUND = 3,         // a name that does not exist
  HEED_CORRUPT = 4,           // what a file holds; no function of this interface reads files yet
  HEED_IO = 5,                // the system refused; likewise
  HEED_FAILED = 6,            // the work itself failed: no memory
  HEED_INTERRUPTED = 7        // somebody asked to stop
};

/// What went wrong, as data. No text is null; what does not apply is "".
typedef struct heed_error {
  size_t size;  // of this struct, as the library has it
  heed_status code;
  const char* message;   // all of it in one line: "attention: k.shape[3] is 32, expected 64 (q's
                         // head size)"
  const char* op;        // "attention"
  const char* argument;  // the field: "k.shape[3]", "observations[0].k"
  const char* found;     // "32"; empty: not given
  const char* expected;  // "64 (q's head size)"
  const char* hint;      // a next step
} heed_error;

/// The last failure on this thread; with code HEED_OK while there was none. It stays as it is until
/// another call fails on this thread: success does not clear it. Never null. A language whose
/// threads wander between those of the system reads it before it gives up the thread.
HEED_API const heed_error* heed_last_error(void);

// -------------------------------------------------------------------------------------------------
// The library itself: which one it is, and how many threads it computes with.

/// "major.minor.patch" of the library that runs.
HEED_API const char* heed_version(void);

/// Threads that one call uses: what was set, else $HEED_THREADS, else the CPUs that this process
/// may run on. All callers share one pool; the calling thread always computes. Idle threads sleep,
/// and a child of fork gets a pool of its own. Results do not depend on the number.
HEED_API heed_status heed_thread_count(int32_t* count);

/// For the whole process, from the next call on: 1 to 4096; 0 returns to the default.
HEED_API heed_status heed_set_thread_count(int32_t count);

// -------------------------------------------------------------------------------------------------
// How the C interface sees memory: windows on tensors, and lists of numbers. They own nothing.

/// Element types; 0 is none of them. f16 is IEEE binary16, bf16 the upper half of a float.
enum {
  HEED_F64 = 1,
  HEED_F32 = 2,
  HEED_F16 = 3,
  HEED_BF16 = 4,
  HEED_I64 = 5,
  HEED_I32 = 6,
  HEED_I8 = 7,
  HEED_U8 = 8,
  HEED_BOOL = 9  // one byte, 0 or 1
};

#define HEED_MAX_RANK 8

/// A window on the caller's memory. Inputs are only read. All bytes 0 stands for "not given"; a
/// tensor with an extent of 0 is given, and needs no memory. This struct does not grow.
typedef struct heed_view {
  void* data;        // the element whose indices are all 0, aligned to its type
  int32_t dtype;     // HEED_F32, ...
  int32_t rank;      // 0 to HEED_MAX_RANK
  int32_t strided;   // 0: row-major, `strides` is not read; 1: as `strides` says
  int32_t reserved;  // 0
  int64_t shape[HEED_MAX_RANK];
  int64_t strides[HEED_MAX_RANK];  // in elements; 0 (broadcast) and below 0 in inputs, too
} heed_view;

/// Integers and numbers, copied by the call that is given them; all bytes 0: none.
typedef struct heed_integers {
  const int64_t* data;
  int64_t count;
} heed_integers;

typedef struct heed_numbers {
  const double* data;
  int64_t count;
} heed_numbers;

/// A row-major view; `rank` is at most HEED_MAX_RANK.
static inline heed_view heed_view_of(void* data, int32_t dtype, int32_t rank,
                                     const int64_t* shape) {
  heed_view view;
  int32_t axis;
  memset(&view, 0, sizeof view);
  view.data = data;
  view.dtype = dtype;
  view.rank = rank;
  for (axis = 0; axis < rank && axis < HEED_MAX_RANK; ++axis) view.shape[axis] = shape[axis];
  return view;
}

// -------------------------------------------------------------------------------------------------
// Who may attend to whom, as data. True means *may attend*.

/// A rule that never changes: any number of calls, on any threads, may read it. Each function
/// writes a new mask, or null where it fails; the caller frees it once. The masks that an `and` or
/// an `or` was made of may be freed before it. Query i stands at position p_i = q_offset + i, key j
/// at p_j = key_offset + j (heed_attention_args).
typedef struct heed_mask heed_mask;

/// Null is let pass.
HEED_API void heed_mask_free(heed_mask* mask);

/// Visible where p_i - left <= p_j <= p_i + right; -1 is no bound. left >= -1, right >= -1.
HEED_API heed_status heed_mask_band(int64_t left, int64_t right, heed_mask** mask);

/// The band (-1, 0): no key after the query's own position. The last query sees every key unless
/// q_offset says otherwise; q_offset 0 aligns top-left, as PyTorch's `is_causal` does.
HEED_API heed_status heed_mask_causal(heed_mask** mask);

/// Several documents in one sequence: visible where query and key are of the same segment. Ids are
/// i32 or i64, [T] for every batch or [B, T], and are copied. `key_ids` null: the queries' (self-
/// attention).
HEED_API heed_status heed_mask_segments(const heed_view* query_ids, const heed_view* key_ids,
                                        heed_mask** mask);

/// Visible where p_j < lengths[b]; `count` lengths, which are copied: one a batch, or one for all.
/// Causal `or` prefix is the prefix language model's mask.
HEED_API heed_status heed_mask_prefix(const int64_t* lengths, int64_t count, heed_mask** mask);

/// Visible where `keep` (bool or u8, not 0) is true; broadcasts right-aligned to [B, H, Tq, Tk].
/// Its columns are keys, not slots. The memory must outlive the mask.
HEED_API heed_status heed_mask_keep(const heed_view* keep, heed_mask** mask);

/// Visible where layout[.., i / rows, j / keys] (bool or u8) is true; ceil(Tq / rows) by ceil(Tk /
/// keys) entries, broadcast over batch and heads. The memory must outlive the mask.
HEED_API heed_status heed_mask_blocks(const heed_view* layout, int64_t rows, int64_t keys,
                                      heed_mask** mask);

/// Visible along the edges of a graph in compressed sparse rows: query i sees the keys
/// columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], which rise strictly. `row_starts` has
/// Tq + 1 entries; both i32 or i64, and copied.
HEED_API heed_status heed_mask_edges(const heed_view* row_starts, const heed_view* columns,
                                     heed_mask** mask);

/// Visible where both are, and where one of them is.
HEED_API heed_status heed_mask_and(const heed_mask* a, const heed_mask* b, heed_mask** mask);
HEED_API heed_status heed_mask_or(const heed_mask* a, const heed_mask* b, heed_mask** mask);

// -------------------------------------------------------------------------------------------------
// Exact attention in memory linear in the text.

enum {
  HEED_SIMILARITY_DOT = 0,       // q . k
  HEED_SIMILARITY_COSINE = 1,    // q . k / (|q| |k|), each norm at least 1e-12
  HEED_SIMILARITY_GAUSSIAN = 2,  // -|q - k|^2
  HEED_SIMILARITY_ABSOLUTE = 3   // -|q - k|_1
};

enum {
  HEED_NORMALISER_SOFTMAX = 0,
  HEED_NORMALISER_SIGMOID = 1,  // each score by itself: no lse, no sink
  HEED_NORMALISER_NONE = 2      // the score is the weight: no lse, no sink
};

/// One problem. With B batch, H query heads, G key/value heads (H % G == 0), Tq queries, Tk keys, D
/// and Dv head sizes:
///   z_ij = scale[h] * similarity(q_i, k_j);  z = softcap * tanh(z / softcap)
///   z_ij = z_ij + bias[b, h, i, j] - alibi[h] * |p_i - p_j|;  the mask selects
///   p_i  = softmax over the visible keys, with a term e^sink[h] in the denominator
///   out_i = sum_j p_ij v_j
/// docs/attention.md says all of it.
///
/// Types: q f64, f32, f16 or bf16; k and v any of them or i8 with scales, f64 only under q of f64.
/// Accumulates in f32 (f64 for f64) and rounds once. Any strides. A row without a visible key has
/// out 0 and lse -inf. A masked position has no influence, even if it holds NaN. Deterministic: the
/// same bits for any number of threads, and for a row whatever else is in the batch.
typedef struct heed_attention_args {
  size_t size;
  heed_view q;  // [B, H, Tq, D]; packed [H, total, D]
  heed_view k;  // [B, G, Tk, D]; packed [G, total, D]; paged [pages, G, P, D]
  heed_view v;  // as k, with Dv
  // Keys in pages, in a ring, in 8 bits. All three of them count keys from key_begin on.
  heed_view page_table;      // [B, N] i32 or i64: paged, which needs key_length
  heed_integers ring_begin;  // slot of the oldest key: a ring
  heed_view k_scales;        // of i8: f32, as k with ceil(D / 32) as the last extent
  heed_view v_scales;
  // What exists, and where it stands: one entry a batch, one for all, or none (the default).
  heed_integers query_length;  // default Tq; rows past it get out 0
  heed_integers key_begin;     // slot of the first key (left padding); default 0
  heed_integers key_length;    // keys from there on; default Tk - key_begin
  heed_integers q_offset;    // position of query 0; default key_length - query_length + key_offset
  heed_integers key_offset;  // position of key 0; default 0
  heed_integers query_starts;  // packed: B + 1 offsets, from 0 to total
  heed_integers key_starts;
  const heed_mask* mask;  // null: everyone
  // How a score becomes a weight.
  heed_numbers scale;  // none: 1 / sqrt(D) for dot, else 1; one number; or one a head
  int32_t similarity;  // HEED_SIMILARITY_DOT, ...
  int32_t normaliser;  // HEED_NORMALISER_SOFTMAX, ...
  double softcap;      // 0: none
  heed_view bias;      // any float type; broadcasts right-aligned to [B, H, Tq, Tk]; -inf hides
  heed_view alibi;     // slopes [H]; any float type
  heed_view sink;      // logits [H]; any float type
  // Dropout of weights: Philox 4x32-10 with this seed and offset (docs/attention.md).
  double dropout_rate;  // in [0, 1]; 0: none
  uint64_t dropout_seed;
  uint32_t dropout_offset;  // layer or step
  uint32_t reserved;        // 0
  const char* kernel;  // a kernel by name, as plans list them; null or "": the first that serves
} heed_attention_args;

/// What a forward pass leaves. As a result: memory of the caller's that overlaps nothing; `out` is
/// required, the others are written where they are given. For gradients and questions: what the
/// forward pass wrote.
typedef struct heed_attended {
  size_t size;
  heed_view out;  // [B, H, Tq, Dv], packed [H, total, Dv]; of q's type; any strides
  heed_view lse;  // [B, H, Tq], packed [H, total]; f32 (f64 for f64), row-major: ln of the sum of
                  // exp(z) over visible keys and the sink
  heed_view lse_low;  // as lse, which it completes: subtract one after the other
  heed_view out_low;  // as out, for f16 and bf16: what out lost in rounding
} heed_attended;

static inline heed_attention_args heed_attention_args_default(void) {
  heed_attention_args args;
  memset(&args, 0, sizeof args);
  args.size = sizeof args;
  return args;
}

static inline heed_attended heed_attended_default(void) {
  heed_attended attended;
  memset(&attended, 0, sizeof attended);
  attended.size = sizeof attended;
  return attended;
}

/// Computes `into->out` and what else is given there. After an error it may hold anything.
HEED_API heed_status heed_attention(const heed_attention_args* args, const heed_attended* into);

// -------------------------------------------------------------------------------------------------
// The gradients of attention, and of what is observed of its weights.

/// Where gradients are written: those that are given are computed. Any strides; they overlap
/// nothing.
typedef struct heed_gradients {
  size_t size;
  heed_view dq;      // of q's shape and type
  heed_view dk;      // of k's; contiguous and packed keys of floating types have it
  heed_view dv;      // of v's; likewise
  heed_view dbias;   // of the bias's own: summed over what it is broadcast over
  heed_view dslope;  // [H], of ALiBi: of the slopes' type
  heed_view dsink;   // [H], of the sink's type
  heed_view dscale;  // [H] where there is a scale a head, else [1]; f32 (f64 for f64)
} heed_gradients;

static inline heed_gradients heed_gradients_default(void) {
  heed_gradients gradients;
  memset(&gradients, 0, sizeof gradients);
  gradients.size = sizeof gradients;
  return gradients;
}

/// Gradients for the cotangents `dout` (of out's shape and type) and `dlse` (of lse's; null: 0).
/// `attended` needs out and lse; lse_low and out_low make it exact to the last bits. Rounds once;
/// deterministic. After an error the gradients may hold anything.
HEED_API heed_status heed_attention_backward(const heed_attention_args* args,
                                             const heed_attended* attended, const heed_view* dout,
                                             const heed_view* dlse, const heed_gradients* into);

/// Gradients of what is observed: of sum_i dentropy_i entropy_i + sum_j dreceived_j received_j,
/// with `dentropy` [B, H, Tq] and `dreceived` [B, H, Tk], row-major, f32 (f64 for f64); null: 0.
/// `attended` needs lse. dv is 0.
HEED_API heed_status heed_observe_backward(const heed_attention_args* args,
                                           const heed_attended* attended, const heed_view* dentropy,
                                           const heed_view* dreceived, const heed_gradients* into);

// -------------------------------------------------------------------------------------------------
// Questions about weights that are never stored: one sweep over the tiles, many answers.

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

// -------------------------------------------------------------------------------------------------
// Which kernel would run, why the others do not, and what it costs.

/// Belongs to the library; `size` says which fields it has.
typedef struct heed_plan {
  size_t size;
  const char* text;       // all of it in lines, as `heed explain` prints it
  const char* kernel;     // which runs
  const char* mask;       // as it describes itself: "band(left=-1, right=0)"
  const char* alignment;  // "bottom-right", "top-left" or "given": where query 0 stands
  int64_t allowed_pairs;  // over batch and heads
  double flop;
  double bytes;  // inputs read and results written once
  int64_t workspace_bytes;
  int64_t refusal_count;       // the kernels that were asked before it,
  const char* const* refused;  // their names
  const char* const* reasons;  // and why they do not serve
} heed_plan;

/// The plan of the forward pass, and that of a backward pass that writes what is given of `into`
/// (null: dq, dk and dv). Views need no memory. The caller frees the plan; null where it fails.
HEED_API heed_status heed_plan_attention(const heed_attention_args* args, const heed_plan** plan);
HEED_API heed_status heed_plan_attention_backward(const heed_attention_args* args,
                                                  const heed_gradients* into,
                                                  const heed_plan** plan);

/// Null is let pass.
HEED_API void heed_plan_free(const heed_plan* plan);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
