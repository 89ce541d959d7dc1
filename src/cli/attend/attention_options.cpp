#include "cli/attend/attention_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/tensor.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

std::optional<DType> named_dtype(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(dtype_named(name));
}

Similarity similarity_of(const std::string& name) {
  if (name == "cosine") return Similarity::kCosine;
  if (name == "gaussian") return Similarity::kGaussian;
  return name == "absolute" ? Similarity::kAbsolute : Similarity::kDot;
}

Normaliser normaliser_of(const std::string& name) {
  if (name == "sigmoid") return Normaliser::kSigmoid;
  return name == "none" ? Normaliser::kNone : Normaliser::kSoftmax;
}

// Rejects shapes whose number of pairs or bytes would overflow.
void check_shape(const std::vector<std::int64_t>& shape) {
  constexpr const char* kNames[] = {"B", "H", "G", "Tq", "Tk", "D", "Dv"};
  constexpr double kMost = 0x1p62;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0) fail("--shape", kNames[i], shape[i], "at least 0");
  const auto extent = [&shape](std::size_t i) { return static_cast<double>(shape[i]); };
  const double heads = extent(0) * (extent(1) + extent(2));
  const double pairs = heads * extent(3) * extent(4);
  if (pairs >= kMost)
    fail("--shape", "the number of query and key pairs", fmt::format("{:.3g}", pairs),
         "below 2^62");
  const double bytes = 8 * heads * (extent(3) + extent(4)) * (extent(5) + extent(6) + 2);
  if (bytes >= kMost)
    fail("--shape", "the arrays' size in bytes", fmt::format("{:.3g}", bytes), "below 2^62");
}

void read_extents(const AttentionOptions& options, Extents& extents) {
  if (!options.causal.empty() && !options.q_offset.empty())
    fail({.found = fmt::format("--causal {} and --q-offset both set the position of query 0",
                               options.causal),
          .expected = "one of them (--window -1,0 is causal too)"});
  extents.query_length = read_integers(options.query_lengths);
  extents.key_length = read_integers(options.key_lengths);
  extents.key_begin = read_integers(options.key_begin);
  extents.q_offset = read_integers(options.q_offset);
  extents.key_offset = read_integers(options.key_offset);
  extents.query_starts = read_integers(options.packed_q);
  extents.key_starts = read_integers(options.packed_k);
  if (options.causal == "top-left") extents.q_offset = {0};
}

void read_scores(const AttentionOptions& options, AttentionProblemData& problem) {
  Scores& scores = problem.args.scores;
  scores.scale = options.scale;
  scores.similarity = similarity_of(options.similarity);
  scores.normaliser = normaliser_of(options.normaliser);
  scores.softcap = options.softcap;
  const auto read = [](const std::string& path, Tensor& memory, ConstView& view) {
    if (path.empty()) return;
    memory = read_npy(path);
    view = memory;
  };
  read(options.bias, problem.bias, scores.bias);
  read(options.alibi, problem.alibi, scores.alibi);
  read(options.sink, problem.sink, scores.sink);
  if (options.dropout)
    problem.args.dropout =
        Dropout{.rate = *options.dropout, .seed = options.seed, .offset = options.dropout_offset};
}

// Everything that depends only on the shapes of q, k and v.
void read_settings(const AttentionOptions& options, AttentionProblemData& problem) {
  problem.args.mask = read_mask(options, problem);
  read_scores(options, problem);
  problem.args.kernel = options.kernel;
}

// The operator would blame V, whose heads must be those of K, for a mistake in K.
void check_heads_of_k(const AttentionArgs& args) {
  const auto heads_of = [](const ConstView& array) { return array.dim(array.rank() == 3 ? 0 : 1); };
  const std::int64_t q = heads_of(args.q), k = heads_of(args.keys.k), v = heads_of(args.keys.v);
  if (k == v || (k > 0 && q % k == 0)) return;
  fail({.argument = fmt::format("shape[{}] of K", args.keys.k.rank() == 3 ? 0 : 1),
        .found = k,
        .expected = fmt::format("{} as V, and a divisor of {} (Q's heads)", v, q)});
}

// Paged keys, ring keys and i8 keys have no gradient.
bool has_gradient(const Keys& keys, const ConstView& operand) {
  return !keys.page_table.given() && keys.ring_begin.empty() && is_floating(operand.dtype());
}

AttentionGradRequest of_all_given(const AttentionOptions& options, const AttentionArgs& args) {
  return {.dk = has_gradient(args.keys, args.keys.k),
          .dv = has_gradient(args.keys, args.keys.v),
          .dbias = !options.bias.empty(),
          .dsink = !options.sink.empty(),
          .dslope = !options.alibi.empty(),
          .dscale = !options.scale.empty()};
}

}  // namespace

void add_attention_options(OptionList& list, AttentionOptions& options) {
  add_mask_options(list, options);
  add(list,
      {{"--query-lengths", &options.query_lengths, "FILE.npy", "queries of each batch"},
       {"--key-lengths", &options.key_lengths, "FILE.npy", "keys of each batch"},
       {"--key-begin", &options.key_begin, "FILE.npy",
        "where each batch's keys begin (left padding)"},
       {"--q-offset", &options.q_offset, "FILE.npy", "position of query 0 of each batch"},
       {"--key-offset", &options.key_offset, "FILE.npy", "position of key 0 of each batch"},
       {"--packed-q", &options.packed_q, "FILE.npy",
        "Q is [H, total, D]: where each sequence begins and the last ends"},
       {"--packed-k", &options.packed_k, "FILE.npy",
        "K and V are [G, total, D]: where each sequence begins and the last ends"},
       {"--page-table", &options.page_table, "FILE.npy",
        "K and V are pages [pages, G, P, D]; the table [B, N] says which page holds the keys "
        "n P to n P + P - 1 of a batch; with --key-lengths"},
       {"--ring-begin", &options.ring_begin, "FILE.npy",
        "K and V are rings: the slot of each batch's oldest key"},
       {"--k-scales", &options.k_scales, "FILE.npy",
        "K is i8: an f32 scale for each 32 elements, [.., ceil(D / 32)]"},
       {"--v-scales", &options.v_scales, "FILE.npy", "V is i8: its scales"},
       {"--scale", &options.scale, "X[,X...]",
        "factor of the similarity: one number for all heads, or one per head as in 0.5,0.25 "
        "(default: 1 / sqrt(D) for dot, else 1)"},
       {.name = "--similarity",
        .to = &options.similarity,
        .help = "how a query and a key are compared",
        .words = {"dot", "cosine", "gaussian", "absolute"},
        .shows_default = true},
       {"--softcap", &options.softcap, "X", "scores become X tanh(score / X)"},
       {"--bias", &options.bias, "FILE.npy",
        "added to scores; broadcast to [B, H, Tq, Tk] as --keep is; -inf hides"},
       {"--alibi", &options.alibi, "SLOPES.npy",
        "slopes [H], one per head: scores fall by slope times distance"},
       {"--sink", &options.sink, "FILE.npy", "logits [H], one per head, of a key without a value"},
       {.name = "--normaliser",
        .to = &options.normaliser,
        .help = "how scores become weights",
        .words = {"softmax", "sigmoid", "none"},
        .shows_default = true},
       {"--dropout", &options.dropout, "P", "share of weights that become 0"},
       {.name = "--seed",
        .to = &options.seed,
        .type = "S",
        .help = "of the random choice of these weights",
        .needs = "--dropout",
        .shows_default = true},
       {.name = "--dropout-offset",
        .to = &options.dropout_offset,
        .type = "N",
        .help = "layer or step: other weights with the same seed",
        .needs = "--dropout",
        .shows_default = true},
       {.name = "--dtype",
        .to = &options.dtype,
        .help = "compute in this type (default: that of Q); bf16 is written as f32",
        .words = {"f64", "f32", "f16", "bf16"}},
       {"--kernel", &options.kernel, "NAME", "run this kernel and no other"}});
}

std::vector<std::int64_t> read_integers(const std::string& path) {
  if (path.empty()) return {};
  const Tensor array = read_npy(path);
  if (array.rank() > 1 || (array.dtype() != DType::kI64 && array.dtype() != DType::kI32))
    fail_in(path, "the array",
            fmt::format("{} of {}", to_string(array.shape()), name(array.dtype())),
            "a list of i64 or i32, one per batch", ErrorCode::kInvalidArgument);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.element_count(); ++i)
    values.push_back(array.dtype() == DType::kI64 ? array.data<std::int64_t>()[i]
                                                  : array.data<std::int32_t>()[i]);
  return values;
}

Tensor read_array(const std::string& path, int rank, const std::string& dtype) {
  Tensor array = read_npy(path);
  if (rank != 0 && array.rank() != rank)
    fail_in(path, "rank", array.rank(), fmt::format("{} as Q has", rank),
            ErrorCode::kInvalidArgument);
  const DType wanted = named_dtype(dtype).value_or(array.dtype());
  if (wanted != array.dtype() && array.dtype() != DType::kI8)
    return Tensor::converted(array.view(), wanted);
  return array;
}

ConstView lifted(const Tensor& array, bool packed) {
  if (packed) return array;
  Shape shape = {1, 1, 1, 1};
  const int missing = 4 - array.rank();
  for (int axis = 0; axis < array.rank(); ++axis) shape[axis + missing] = array.shape()[axis];
  return array.view().reshape(shape);
}

ConstView lowered(const Tensor& array, int rank) {
  ConstView view = array.view();
  while (view.rank() > rank) view = view.select(0, 0);
  return view;
}

namespace {

// Reads K, V and their layout into `problem`, which must already have q.
void read_keys(const AttentionOptions& options, AttentionProblemData& problem) {
  const bool packed = !options.packed_k.empty();
  const bool paged = !options.page_table.empty();
  const int rank = packed ? 3 : problem.packed() || paged ? 4 : problem.rank;
  Keys& keys = problem.args.keys;
  const auto read = [&](const std::string& path, const std::string& dtype, Tensor& memory) {
    if (path.empty()) return ConstView();
    memory = read_array(path, rank, dtype);
    return lifted(memory, packed);
  };
  keys.k = read(options.k, options.dtype, problem.k);
  keys.v = read(options.v, options.dtype, problem.v);
  keys.k_scales = read(options.k_scales, "", problem.k_scales);
  keys.v_scales = read(options.v_scales, "", problem.v_scales);
  keys.ring_begin = read_integers(options.ring_begin);
  if (!options.ring_begin.empty() && keys.ring_begin.empty())
    fail_in(options.ring_begin, "the list", "empty", "the slot of each batch's oldest key",
            ErrorCode::kInvalidArgument);
  if (!paged) return;
  problem.page_table = read_npy(options.page_table);
  keys.page_table = problem.page_table;
}

}  // namespace

AttentionProblemData read_problem(const AttentionOptions& options) {
  AttentionProblemData problem;
  read_extents(options, problem.args.extents);
  problem.q = read_array(options.q, 0, options.dtype);
  problem.rank = problem.q.rank();
  if (problem.rank < 2 || problem.rank > 4)
    fail_in(options.q, "shape", to_string(problem.q.shape()), "[B, H, T, D], [H, T, D] or [T, D]",
            ErrorCode::kInvalidArgument);
  problem.args.q = lifted(problem.q, problem.packed());
  read_keys(options, problem);
  check_heads_of_k(problem.args);
  read_settings(options, problem);
  return problem;
}

AttentionProblemData shape_problem(const AttentionOptions& options,
                                   const std::vector<std::int64_t>& shape) {
  check_shape(shape);
  AttentionProblemData problem;
  const DType dtype = named_dtype(options.dtype).value_or(DType::kF32);
  read_extents(options, problem.args.extents);
  const auto view = [&](std::int64_t heads, std::int64_t length, std::int64_t dim) {
    return ConstView(nullptr, dtype, Shape{shape[0], heads, length, dim});
  };
  problem.args.q = view(shape[1], shape[3], shape[5]);
  problem.args.keys = {.k = view(shape[2], shape[4], shape[5]),
                       .v = view(shape[2], shape[4], shape[6])};
  read_settings(options, problem);
  return problem;
}

Option grad_of_option(AttentionOptions& options) {
  return {.name = "--grad-of",
          .to = &options.grad_of,
          .type = "LIST",
          .help =
              "only these gradients: dq, dk, dv, dbias, dsink, dslope, dscale (default: of all "
              "that is given, of --scale too, which the fast kernels have no gradient of)",
          .words = {"dq", "dk", "dv", "dbias", "dsink", "dslope", "dscale"}};
}

AttentionGradRequest grad_request(const AttentionOptions& options, const AttentionArgs& args) {
  const AttentionGradRequest all = of_all_given(options, args);
  if (options.grad_of.empty()) return all;
  AttentionGradRequest request = {.dq = false, .dk = false, .dv = false};
  for (const NamedGradient& gradient : kGradients) {
    if (std::ranges::find(options.grad_of, gradient.name) == options.grad_of.end()) continue;
    const bool of_keys = gradient.option[0] != '-';
    if (!(all.*gradient.asked))
      fail({.argument = "--grad-of",
            .found = gradient.name,
            .expected = of_keys ? "other gradients: keys in pages, in a ring or of i8 have none"
                                : fmt::format("{} beside it", gradient.option)});
    request.*gradient.asked = true;
  }
  return request;
}

}  // namespace heed::cli
