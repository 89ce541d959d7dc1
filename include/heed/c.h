// heed for C, and for every language that calls C: attention, its gradients, and every question
// about its weights. Link -lheed_c (pkg-config heed-c; CMake: heed::c). docs/c.md is the guide.
//
// Every function returns HEED_OK or an error code; heed_last_error has the details. The library
// throws no exception, prints nothing and never ends the process. The caller owns all memory that
// results are written to. Every function may be called from several threads at once.
//
// Structs: all bytes 0 is the default of every field but `size`, which is the struct's sizeof: it
// tells the library which fields the caller's heed.h had. Enumerated fields are int32_t, so their
// size does not depend on the compiler.
//
// ABI: within one soname (libheed_c.so.0) functions, enumerators and fields at the end of structs
// are added, never changed or removed: a program linked with an older heed keeps working.
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
  HEED_CORRUPT = 4,           // a file's content is invalid; no function reads files yet
  HEED_IO = 5,                // the operating system refused (reserved for files)
  HEED_FAILED = 6,            // the work itself failed, for example out of memory
  HEED_INTERRUPTED = 7        // the caller asked to stop
};

/// What went wrong, as data. No text is null; a part that does not apply is "".
typedef struct heed_error {
  size_t size;  // sizeof of this struct in the library
  heed_status code;
  const char* message;   // the whole error in one line: "attention: k.shape[3] is 32, expected 64
                         // (q's head size)"
  const char* op;        // "attention"
  const char* argument;  // the field: "k.shape[3]", "observations[0].k"
  const char* found;     // "32"; empty: not given
  const char* expected;  // "64 (q's head size)"
  const char* hint;      // a suggested next step
} heed_error;

/// The last failure on this thread; code HEED_OK before the first failure. Only another failing
/// call on this thread changes it: success does not clear it. Never null. A language that moves its
/// tasks between OS threads must read it before the task may move.
HEED_API const heed_error* heed_last_error(void);

// -------------------------------------------------------------------------------------------------
// The library itself: which one it is, and how many threads it computes with.

/// "major.minor.patch" of the library that runs.
HEED_API const char* heed_version(void);

/// Threads per call: the number set, else $HEED_THREADS, else the CPUs that this process may run
/// on. All callers share one pool; the calling thread always computes. Idle threads sleep. After
/// fork the child gets its own pool. Results do not depend on the number.
HEED_API heed_status heed_thread_count(int32_t* count);

/// Sets the number for the whole process, from the next call on: 1 to 4096; 0 restores the default.
HEED_API heed_status heed_set_thread_count(int32_t count);

// -------------------------------------------------------------------------------------------------
// How the C interface sees memory: windows on tensors, and lists of numbers. They own nothing.

/// Element types; 0 is not a type. f16 is IEEE binary16, bf16 the upper half of a float.
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

/// A view of the caller's memory. Inputs are only read. All bytes 0 means "not given"; a tensor
/// with an extent of 0 is given and needs no memory. This struct does not grow.
typedef struct heed_view {
  void* data;        // the element whose indices are all 0, aligned to its type
  int32_t dtype;     // HEED_F32, ...
  int32_t rank;      // 0 to HEED_MAX_RANK
  int32_t strided;   // 0: row-major, `strides` is not read; 1: `strides` applies
  int32_t reserved;  // 0
  int64_t shape[HEED_MAX_RANK];
  int64_t strides[HEED_MAX_RANK];  // in elements; inputs may have 0 (broadcast) and negative ones
} heed_view;

/// A list of numbers, copied by the call that receives it; all bytes 0: no list.
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

/// A mask never changes: any number of calls, on any threads, may read it. Each function writes a
/// new mask, or null if it fails; the caller frees it once. `and` and `or` copy their operands,
/// which may be freed first. Query i has position p_i = q_offset + i, key j has position p_j =
/// key_offset + j (heed_attention_args).
typedef struct heed_mask heed_mask;

/// Null is allowed.
HEED_API void heed_mask_free(heed_mask* mask);

/// Visible where p_i - left <= p_j <= p_i + right; -1: no bound. left >= -1, right >= -1.
HEED_API heed_status heed_mask_band(int64_t left, int64_t right, heed_mask** mask);

/// The band (-1, 0): no key after the query's own position. The last query sees every key unless
/// q_offset says otherwise; q_offset 0 aligns top-left, as PyTorch's `is_causal` does.
HEED_API heed_status heed_mask_causal(heed_mask** mask);

/// Several documents in one sequence: visible where query and key have the same segment id. Ids are
/// i32 or i64, [T] for every batch or [B, T], and are copied. `key_ids` null: the same as the
/// queries' (self-attention).
HEED_API heed_status heed_mask_segments(const heed_view* query_ids, const heed_view* key_ids,
                                        heed_mask** mask);

/// Visible where p_j < lengths[b]; `count` lengths, which are copied: one per batch, or one for
/// all. Causal `or` prefix is the mask of a prefix language model.
HEED_API heed_status heed_mask_prefix(const int64_t* lengths, int64_t count, heed_mask** mask);

/// Visible where `keep` (bool or u8, not 0) is true; broadcasts right-aligned to [B, H, Tq, Tk].
/// Its columns count keys, not slots. The memory must outlive the mask.
HEED_API heed_status heed_mask_keep(const heed_view* keep, heed_mask** mask);

/// Visible where layout[.., i / rows, j / keys] (bool or u8) is true; ceil(Tq / rows) by ceil(Tk /
/// keys) entries, broadcast over batch and heads. The memory must outlive the mask.
HEED_API heed_status heed_mask_blocks(const heed_view* layout, int64_t rows, int64_t keys,
                                      heed_mask** mask);

/// Visible along the edges of a graph in compressed sparse rows: query i sees the keys
/// columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], in strictly ascending order.
/// `row_starts` has Tq + 1 entries; both i32 or i64, and copied.
HEED_API heed_status heed_mask_edges(const heed_view* row_starts, const heed_view* columns,
                                     heed_mask** mask);

/// The intersection and the union of two masks: visible where both are, or where either is.
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
  HEED_NORMALISER_SIGMOID = 1,  // each score on its own: no lse, no sink
  HEED_NORMALISER_NONE = 2      // the score is the weight: no lse, no sink
};

/// One problem. With B batch, H query heads, G key/value heads (H % G == 0), Tq queries, Tk keys, D
/// and Dv head sizes:
///   z_ij = scale[h] * similarity(q_i, k_j);  z = softcap * tanh(z / softcap)
///   z_ij = z_ij + bias[b, h, i, j] - alibi[h] * |p_i - p_j|;  the mask selects
///   p_i  = softmax over the visible keys, with a term e^sink[h] in the denominator
///   out_i = sum_j p_ij v_j
/// docs/attention.md has the details.
///
/// Types: q f64, f32, f16 or bf16; k and v also i8 with scales, and f64 only if q is f64.
/// Accumulates in f32 (f64 for f64) and rounds once. Any strides. A row without a visible key has
/// out 0 and lse -inf. A masked position has no influence, even if it holds NaN. Deterministic: the
/// bits of a row do not depend on the number of threads or the rest of the batch.
typedef struct heed_attention_args {
  size_t size;
  heed_view q;  // [B, H, Tq, D]; packed [H, total, D]
  heed_view k;  // [B, G, Tk, D]; packed [G, total, D]; paged [pages, G, P, D]
  heed_view v;  // like k, with Dv
  // Paged keys, ring keys and 8-bit keys. All three count keys from key_begin on.
  heed_view page_table;      // [B, N] i32 or i64: paged, which needs key_length
  heed_integers ring_begin;  // ring: slot of the oldest key
  heed_view k_scales;        // i8: f32, like k with last extent ceil(D / 32)
  heed_view v_scales;
  // Which queries and keys exist, and their positions: one entry per batch, one for all, or none
  // (the default).
  heed_integers query_length;  // default Tq; rows past it get out 0
  heed_integers key_begin;     // slot of the first key (left padding); default 0
  heed_integers key_length;    // number of keys; default Tk - key_begin
  heed_integers q_offset;    // position of query 0; default key_length - query_length + key_offset
  heed_integers key_offset;  // position of key 0; default 0
  heed_integers query_starts;  // packed: B + 1 offsets, from 0 to total
  heed_integers key_starts;
  const heed_mask* mask;  // null: every query sees every key
  // How a score becomes a weight.
  heed_numbers scale;  // none: 1 / sqrt(D) for dot, else 1; one number; or one per head
  int32_t similarity;  // HEED_SIMILARITY_DOT, ...
  int32_t normaliser;  // HEED_NORMALISER_SOFTMAX, ...
  double softcap;      // 0: no softcap
  heed_view bias;      // any float type; broadcasts right-aligned to [B, H, Tq, Tk]; -inf hides
  heed_view alibi;     // slopes [H]; any float type
  heed_view sink;      // logits [H]; any float type
  // Dropout of weights: Philox 4x32-10 with this seed and offset (docs/attention.md).
  double dropout_rate;  // in [0, 1]; 0: none
  uint64_t dropout_seed;
  uint32_t dropout_offset;  // layer or step
  uint32_t reserved;        // 0
  const char* kernel;       // a kernel's name, as in plans; null or "": the first that supports it
} heed_attention_args;

/// Results of a forward pass. As an output: the caller's memory, without overlaps; `out` is
/// required, the others are written if given. As an input of gradients and observations: what the
/// forward pass wrote.
typedef struct heed_attended {
  size_t size;
  heed_view out;  // [B, H, Tq, Dv], packed [H, total, Dv]; of q's type; any strides
  heed_view lse;  // [B, H, Tq], packed [H, total]; f32 (f64 for f64), row-major: ln of the sum of
                  // exp(z) over visible keys and the sink
  heed_view lse_low;  // like lse, completes it: subtract one after the other
  heed_view out_low;  // like out, for f16 and bf16: the rounding error of out
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

/// Computes `into->out` and the other results given there. After an error their contents are
/// undefined.
HEED_API heed_status heed_attention(const heed_attention_args* args, const heed_attended* into);

// -------------------------------------------------------------------------------------------------
// The gradients of attention, and of what is observed of its weights.

/// Where gradients are written: the given ones are computed. Any strides; they must not overlap.
typedef struct heed_gradients {
  size_t size;
  heed_view dq;      // shape and type of q
  heed_view dk;      // like k; needs contiguous or packed keys of a floating type
  heed_view dv;      // like v; likewise
  heed_view dbias;   // like the bias: summed over broadcast axes
  heed_view dslope;  // [H], ALiBi: type of the slopes
  heed_view dsink;   // [H], type of the sink
  heed_view dscale;  // [H] with a scale per head, else [1]; f32 (f64 for f64)
} heed_gradients;

static inline heed_gradients heed_gradients_default(void) {
  heed_gradients gradients;
  memset(&gradients, 0, sizeof gradients);
  gradients.size = sizeof gradients;
  return gradients;
}

/// Gradients for the cotangents `dout` (of out's shape and type) and `dlse` (of lse's; null: 0).
/// `attended` needs out and lse; lse_low and out_low make the result exact to the last bits. Rounds
/// once; deterministic. After an error the gradients are undefined.
HEED_API heed_status heed_attention_backward(const heed_attention_args* args,
                                             const heed_attended* attended, const heed_view* dout,
                                             const heed_view* dlse, const heed_gradients* into);

/// Gradients of observed values: of sum_i dentropy_i entropy_i + sum_j dreceived_j received_j, with
/// `dentropy` [B, H, Tq] and `dreceived` [B, H, Tk], row-major, f32 (f64 for f64); null: 0.
/// `attended` needs lse. dv is 0.
HEED_API heed_status heed_observe_backward(const heed_attention_args* args,
                                           const heed_attended* attended, const heed_view* dentropy,
                                           const heed_view* dreceived, const heed_gradients* into);

// -------------------------------------------------------------------------------------------------
// Questions about weights that are never stored: one sweep over the tiles, many answers.

/// The questions and the shapes of their answers. R: the batches, heads, rows and keys of `region`.
enum {
  HEED_OBSERVE_WEIGHTS = 1,  // [B, H, Tq, Tk]; quadratic
  HEED_OBSERVE_REGION = 2,   // [R batches, R heads, R rows, R keys]: `value` of each pair
  HEED_OBSERVE_ROWS = 3,     // [B, heads, n, Tk]: `value` of the chosen rows and all keys
  HEED_OBSERVE_COLUMNS = 4,  // [B, heads, Tq, n]: `value` of the chosen keys and all rows
  HEED_OBSERVE_HEATMAP = 5,  // [R batches, R heads, height, width]; a cell per row and key at most
  HEED_OBSERVE_HEAD_MEAN = 6,  // [R batches, R rows, R keys]: the mean over the region's heads
  HEED_OBSERVE_ENTROPY = 7,    // [B, H, Tq]: -sum p ln p, in nats
  HEED_OBSERVE_ROW_MAX = 8,    // [B, H, Tq]: the largest weight
  HEED_OBSERVE_TOP_K = 9,      // [B, H, Tq, k]: the k largest weights of a row, descending; their
                               // keys, i64, in `second`; past the visible keys weight 0, key -1
  HEED_OBSERVE_RECEIVED = 10,  // [B, H, Tk]: sum over queries; with sum_heads [B, Tk]
  HEED_OBSERVE_SINK = 11,      // [B, H, Tq]: the weight of the sink
  HEED_OBSERVE_MASS = 12,      // [B, H, Tq, classes]: the weight on each class of keys
  HEED_OBSERVE_EXPECTED_DISTANCE = 13,  // [B, H, Tq]: sum p |p_i - p_j|
  HEED_OBSERVE_OFFSET_PROFILE = 14  // [B, H, last - first + 1]: the mean weight at distance p_i -
                                    // p_j; the number of pairs, i64, in `second`
};

/// Which value of a pair HEED_OBSERVE_REGION, _ROWS and _COLUMNS give.
enum {
  HEED_VALUE_WEIGHTS = 0,         // before dropout; 0 where masked
  HEED_VALUE_SCORES = 1,          // z after all stages; -inf where masked
  HEED_VALUE_BEFORE_SOFTCAP = 2,  // scale * similarity, at masked pairs too
  HEED_VALUE_BEFORE_BIAS = 3,     // after the softcap; likewise
  HEED_VALUE_BEFORE_MASK = 4      // after bias and ALiBi; likewise
};

/// How the weights of a cell become one number.
enum { HEED_POOL_MAX = 0, HEED_POOL_MEAN = 1, HEED_POOL_SUM = 2 };

/// Half-open ranges of heads, queries and keys; an end of 0 or -1 means all. This struct does not
/// grow.
typedef struct heed_region {
  int64_t head_begin, head_end;
  int64_t row_begin, row_end;
  int64_t key_begin, key_end;
} heed_region;

/// One question. The comment of a field names the kinds that read it. Answers are f32 unless noted;
/// they go to the caller's memory, with any strides that do not overlap.
typedef struct heed_observation {
  size_t size;
  int32_t kind;               // HEED_OBSERVE_ENTROPY, ...
  int32_t value;              // REGION, ROWS, COLUMNS: HEED_VALUE_WEIGHTS, ...
  int32_t pool;               // HEATMAP: HEED_POOL_MAX, ...
  int32_t sum_heads;          // RECEIVED: 1 sums over heads
  int32_t by_value_norm;      // any except ENTROPY: 1 replaces p_ij by p_ij |v_j|
  int32_t reserved;           // 0
  heed_region region;         // REGION, HEATMAP, HEAD_MEAN
  int64_t height, width;      // HEATMAP
  int64_t k;                  // TOP_K
  int64_t first, last;        // OFFSET_PROFILE
  heed_integers chosen;       // ROWS, COLUMNS: queries or keys, ascending
  heed_integers heads;        // ROWS, COLUMNS: which heads, ascending; none: all
  heed_integers key_classes;  // MASS: the class of each of the Tk keys; -1: no class
  int64_t classes;            // MASS: number of classes
  heed_view answer;
  heed_view second;                // TOP_K, OFFSET_PROFILE; optional
  int64_t batch_begin, batch_end;  // REGION, HEATMAP, HEAD_MEAN: batches; an end of 0 or -1 means
                                   // all
} heed_observation;

static inline heed_observation heed_observation_of(int32_t kind, heed_view answer) {
  heed_observation asked;
  memset(&asked, 0, sizeof asked);
  asked.size = sizeof asked;
  asked.kind = kind;
  asked.answer = answer;
  return asked;
}

/// Recomputes the weights that an answer needs from q, k and the log-sum-exp, and answers `count`
/// questions in one sweep. `args` are those of the forward pass; only lse and lse_low of `attended`
/// are read. Memory: a few tiles and the answers. Deterministic like attention.
HEED_API heed_status heed_observe(const heed_attention_args* args, const heed_attended* attended,
                                  const heed_observation* const* observations, int64_t count);

// -------------------------------------------------------------------------------------------------
// Which kernel would run, why the others do not, and what it costs.

/// Owned by the library; `size` says which fields it has.
typedef struct heed_plan {
  size_t size;
  const char* text;       // the whole plan as text, as `heed explain` prints it
  const char* kernel;     // the kernel that runs
  const char* mask;       // the mask as text: "band(left=-1, right=0)"
  const char* alignment;  // placement of query 0: "bottom-right", "top-left" or "given"
  int64_t allowed_pairs;  // summed over batch and heads
  double flop;
  double bytes;  // inputs read once and results written once
  int64_t workspace_bytes;
  int64_t refusal_count;       // the kernels before it, which refused,
  const char* const* refused;  // their names
  const char* const* reasons;  // and their reasons
} heed_plan;

/// The plan of the forward pass, and the plan of a backward pass that writes the given members of
/// `into` (null: dq, dk and dv). Views need no memory. The caller frees the plan; null on failure.
HEED_API heed_status heed_plan_attention(const heed_attention_args* args, const heed_plan** plan);
HEED_API heed_status heed_plan_attention_backward(const heed_attention_args* args,
                                                  const heed_gradients* into,
                                                  const heed_plan** plan);

/// Null is allowed.
HEED_API void heed_plan_free(const heed_plan* plan);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)

#endif
