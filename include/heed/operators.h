// Operators used around attention, with their gradients: softmax, norms of rows, rotary positions.
// And attention's relatives: linear attention and its feature maps, message passing on graphs,
// Hopfield networks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// y = exp(x - max) / sum(exp(x - max)) over `axis` (negative: from the end). f64, f32, f16 or bf16
/// (the 16-bit types computed in f32 and rounded once), any strides, extents may be 0; y is
/// row-major. A line that holds a NaN or +inf, or only -inf, is NaN, as in IEEE arithmetic; for
/// rows without a visible key use `attention`. The bits do not depend on the number of threads.
Tensor softmax(const ConstView& x, int axis = -1);

/// dx = y (dy - sum(y dy)) over `axis`, for y = softmax(x).
Tensor softmax_backward(const ConstView& y, const ConstView& dy, int axis = -1);

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the trailing axes that weight
/// has, with the biased variance (Ba et al. 2016). f64, f32, f16 or bf16, all of one type (the
/// 16-bit types computed in f32 and rounded once), any strides; rows may be 0; y is row-major.
struct LayerNormArgs {
  ConstView x = {};       // [..., C]
  ConstView weight = {};  // [C], or several trailing axes of x
  ConstView bias = {};    // as weight
  double epsilon = 1e-5;
};

Tensor layer_norm(const LayerNormArgs& args);

/// Returns dx and *adds* to dweight and dbias (row-major, weight's shape; f32 for the 16-bit
/// types). Rows are added in blocks of a fixed order, so the bits do not depend on the number of
/// threads. Statistics are recomputed from x; nothing else is kept.
struct LayerNormGrads {
  View dweight = {};
  View dbias = {};
};
Tensor layer_norm_backward(const LayerNormArgs& args, const ConstView& dy,
                           const LayerNormGrads& add_to);

/// Each row's mean and inverse standard deviation, over the leading axes of x; f32 (f64 for f64).
struct LayerNormStatistics {
  Tensor mean;
  Tensor inverse_deviation;  // 1 / sqrt(variance + epsilon)
};
LayerNormStatistics layer_norm_statistics(const LayerNormArgs& args);

/// y = x / sqrt(mean(x^2) + epsilon) * weight over the trailing axes that weight has (Zhang &
/// Sennrich 2019, equation 4). f64, f32, f16 or bf16, all of one type (the 16-bit types computed in
/// f32 and rounded once), any strides; rows may be 0; y is row-major.
struct RmsNormArgs {
  ConstView x = {};       // [..., C]
  ConstView weight = {};  // [C], or several trailing axes of x
  double epsilon = 1e-5;
};

Tensor rms_norm(const RmsNormArgs& args);

/// Returns dx and *adds* to dweight (row-major, weight's shape; f32 or f64, f32 for the 16-bit
/// types). Rows are added in blocks of a fixed order, so the bits do not depend on the number of
/// threads.
Tensor rms_norm_backward(const RmsNormArgs& args, const ConstView& dy, const View& dweight);

/// Which two of a row's R rotated elements form a pair.
enum class RopePairs : std::uint8_t {
  kHalves,      // n and n + R / 2: GPT-NeoX, Llama as published on the hub
  kNeighbours,  // 2 n and 2 n + 1: the paper, GPT-J
};

/// Pair n of a row at position p is rotated by the angle p base^(-2 n / R) (Su et al. 2021,
/// equation 34): (a, b) -> (a cos - b sin, b cos + a sin). Elements past R are unchanged.
///
/// Types: f64, f32, f16, bf16; computed in f32 (f64 for f64, and always for the angle) and rounded
/// once. Any strides; y is row-major; extents may be 0. The bits do not depend on the number of
/// threads.
struct RopeArgs {
  ConstView x = {};             // [B, H, T, D]
  std::int64_t rotary_dim = 0;  // R, even, at most D; 0: D
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;

  /// Position of the first token: one per batch, one for all, or none (0). Token t has position
  /// offset + t, which may be negative.
  std::vector<std::int64_t> offset = {};
  /// Instead of `offset`, every token's position, i64 or i32, [B, T] or [1, T].
  ConstView positions = {};

  /// The caller's own angles, both of x's type: a table [P, R / 2] by position, or [B, T, R / 2]
  /// for every token, which then has no positions. Default: the angles of `base`.
  ConstView cosines = {};
  ConstView sines = {};
};

Tensor rope(const RopeArgs& args);
/// Writes to the caller's memory, of any strides with contiguous rows; it may be x itself.
void rope(const RopeArgs& args, const View& y);

/// dx for the cotangent dy [B, H, T, D]: the inverse rotation. Only the shape and type of `args.x`
/// are used.
Tensor rope_backward(const RopeArgs& args, const ConstView& dy);
void rope_backward(const RopeArgs& args, const ConstView& dy, const View& dx);

// -------------------------------------------------------------------------------------------------
// Attention's relatives.

enum class FeatureKind : std::uint8_t {
  kIdentity,
  kEluPlusOne,  // x + 1 above 0, exp(x) below (Katharopoulos et al. 2020, equation 7)
  kRelu,
  kRandomExponential,  // exp(w_m . x - |x|^2 / 2) / sqrt(M): phi(q) . phi(k) is exp(q . k) in
                       // expectation over normal w (Choromanski et al. 2021, lemma 1)
};

struct FeatureMap {
  FeatureKind kind = FeatureKind::kIdentity;
  double scale = 1;           // factor of x; D^(-1/4) for softmax's 1 / sqrt(D)
  ConstView projection = {};  // [M, D] for kRandomExponential: the w_m

  /// Number of features of a row of `width` elements.
  std::int64_t features(std::int64_t width) const;
};

/// phi of every row: [..., D] -> [..., D], or [..., M] for kRandomExponential. f32 or f64 (16-bit
/// types give f32), any strides; the result is row-major.
Tensor map_features(const ConstView& x, const FeatureMap& map);

/// dx [..., D] for the cotangent dphi of the features.
Tensor map_features_backward(const ConstView& x, const FeatureMap& map, const ConstView& dphi);

/// Normal rows [M, D], orthogonal within each block of D (which lowers the variance, section 3
/// there), from Philox: a seed gives the same rows on every machine.
Tensor random_projection(std::int64_t features, std::int64_t width, std::uint64_t seed,
                         DType dtype = DType::kF32);

/// How token t changes the state S [F, Dv], with f = phi(k_t):
enum class UpdateRule : std::uint8_t {
  kSum,         // S += f v_t^T                      (Katharopoulos et al. 2020, equation 18)
  kGated,       // S = exp(g_t) S + f v_t^T          (Yang et al. 2023)
  kDelta,       // S += beta_t f (v_t - S^T f)^T     (Schlag et al. 2021)
  kGatedDelta,  // S = exp(g_t) S, then as kDelta    (Yang et al. 2024)
};

/// out_t = scale phi(q_t)^T S_t, H % G == 0: query head h reads the state of head h / (H / G).
/// These are the rules of ONNX's LinearAttention.
///
/// Types: f64, f32, f16 or bf16, computed in f32 (f64 for f64), rounded once; the state is never
/// rounded. Any strides; B, H, T, Dv may be 0. Per head, time is T F Dv and memory F Dv. Repeated
/// calls with T = 1 are recurrent steps: pass the last call's state as `state`. The bits do not
/// depend on the number of threads.
struct LinearAttentionArgs {
  ConstView q = {};      // [B, H, Tq, D]
  ConstView k = {};      // [B, G, T, D]
  ConstView v = {};      // [B, G, T, Dv]
  ConstView state = {};  // before the first token, any floating type; default: 0
  ConstView decay = {};  // g, log of the factor: [B, G, T, F] or [B, G, T, 1]
  ConstView beta = {};   // [B, G, T] or [B, 1, T]
  UpdateRule rule = UpdateRule::kSum;
  FeatureMap features = {};  // of q and k
  double scale = 1;
  bool causal = true;  // false: every query sees the last state; Tq may differ from T

  /// out_t / (phi(q_t)^T z_t), z the sum of f (decayed as S): the weights sum to 1; 0 where the
  /// denominator is 0. The state is then [F, Dv + 1] with z as its last column. Not with the delta
  /// rules.
  bool normalised = false;
};

struct LinearAttended {
  Tensor out;    // [B, H, Tq, Dv], q's type
  Tensor state;  // [B, G, F, Dv] after the last token, f32 (f64 for f64)
};

LinearAttended linear_attention(const LinearAttentionArgs& args);

struct LinearAttentionGrads {
  Tensor dq;
  Tensor dk;
  Tensor dv;
  Tensor dstate;  // gradient of the state before the first token, [B, G, F, Dv]
  Tensor ddecay;  // as decay; empty without one
  Tensor dbeta;   // as beta; empty without one
};

/// Gradients for the cotangents dout and dstate (of the returned state; default: 0). Each thread
/// keeps 2 sqrt(T) states of one head and computes those between them again.
LinearAttentionGrads linear_attention_backward(const LinearAttentionArgs& args,
                                               const ConstView& dout, const ConstView& dstate = {});

/// A directed graph in compressed sparse rows: node i receives from the nodes
/// columns[row_starts[i]] .. columns[row_starts[i + 1] - 1], in strictly ascending order. Both i32
/// or i64.
struct Graph {
  ConstView row_starts = {};  // [N + 1]
  ConstView columns = {};     // [edges]
};

/// y_i = sum over neighbours j of softmax_j(scale x_i . x_j) x_j: `attention` with the mask `edges`
/// and identity projections, Q = K = V = x (Veličković et al. 2018 with a dot product for the
/// score). A node without neighbours gets 0. Types, NaN and determinism as in `attention`.
struct MessagePassingArgs {
  ConstView x = {};  // [N, C]
  Graph graph = {};
  std::vector<double> scale = {};  // empty: 1 / sqrt(C); or one number
  std::string kernel = {};         // a kernel of attention
};

Tensor message_passing(const MessagePassingArgs& args);

/// dx [N, C] for the cotangent dy: the sum of x's gradients as query, key and value.
Tensor message_passing_backward(const MessagePassingArgs& args, const ConstView& dy);

/// Couplings W_ij = (1 / N) sum over patterns of x_i x_j, W_ii = 0 (Hopfield 1982, Hebb's rule),
/// from patterns [P, N] of +1 and -1. f64 or f32; the result is [N, N].
Tensor hebbian_couplings(const ConstView& patterns);

/// E = -1/2 s^T W s for every state [..., N]: the Hamiltonian -sum over pairs i < j of J_ij s_i s_j
/// of an Ising model with couplings J_ij = W_ij.
std::vector<double> hopfield_energies(const ConstView& couplings, const ConstView& states);

struct HopfieldRecall {
  Tensor state;                  // [N] of +1 and -1
  std::vector<double> energies;  // before the first sweep and after each; never increases
  bool settled = false;          // the last sweep changed nothing
};

/// One unit at a time takes the sign of its field sum_j W_ij s_j (a field of 0 keeps it). Each
/// sweep uses a new random order, drawn by Philox from the seed; recall ends when a sweep changes
/// nothing. W must be symmetric with a zero diagonal, so that the energy never increases.
HopfieldRecall hopfield_recall(const ConstView& couplings, const ConstView& state,
                               std::int64_t sweeps = 100, std::uint64_t seed = 0);

/// The modern network (Ramsauer et al. 2021): state <- softmax(beta state X^T) X (their equation
/// 3), which is attention with K = V = X and scale beta, for all states at once.
struct RetrieveArgs {
  ConstView patterns = {};  // X [P, D], P at least 1
  ConstView state = {};     // [S, D], of X's type: f64, or f32
  double beta = 1;          // above 0: the inverse temperature
  std::int64_t steps = 1;   // maximum number of steps
  double tolerance = 0;     // ends when no state moved farther than this (Euclidean)
  std::string kernel = {};  // a kernel of attention
};

struct Retrieved {
  Tensor state;     // [S, D]
  Tensor energies;  // [steps taken + 1, S], f64
  std::int64_t steps_taken = 0;
  bool settled = false;
};

/// Every step is heed::attention; the energy (their equation 2),
/// E = -lse(beta X s) / beta + |s|^2 / 2 + log(P) / beta + max_p |x_p|^2 / 2, never rises (their
/// theorem 1), is at least 0, and comes from the log-sum-exp that the step gives anyway.
Retrieved retrieve(const RetrieveArgs& args);

}  // namespace heed
