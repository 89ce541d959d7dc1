// The attention problems shared by tests, benchmarks and the support table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed {

/// The memory layout of q, k, v.
enum class Layout : std::uint8_t {
  kHeads,        // [B, H, T, D]
  kTokens,       // [B, T, H, D]
  kInterleaved,  // one [B, T, (H + 2 G) D]: self-attention with Dv = D
  kPacked,       // [H, total, D]: sequences of Tq, Tq - 13, ... queries and Tk, Tk - 13, ... keys
};

enum class CaseMask : std::uint8_t {
  kNone,
  kBand,
  kKeep,
  kBandAndKeep,
  kBandOrKeep,
  kPrefix,
  kSegments,
  kBlocks,
  kEdges
};

/// How k and v are stored: row after row in the layout, in pages of 24, or in rings.
enum class CaseKeys : std::uint8_t { kRows, kPages, kRing };

/// Everything about scores beyond scale * q . k; the numbers are made for the case.
struct CaseScores {
  Similarity similarity = Similarity::kDot;
  Normaliser normaliser = Normaliser::kSoftmax;
  double softcap = 0;
  std::vector<std::int64_t> bias = {};  // its shape
  bool bias_hides = true;               // every seventh number of it is -inf
  bool alibi = false;
  bool sink = false;
  bool scale_a_head = false;
  double dropout = 0;
};

struct AttentionCase {
  std::string name = {};
  DType dtype = DType::kF32;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  CaseMask mask = CaseMask::kNone;
  Band band = {};
  Extents extents = {};
  Layout layout = Layout::kHeads;
  double spread = 1;  // standard deviation of q: larger makes sharper weights
  CaseScores scores = {};
  std::optional<DType> kv_dtype = {};  // of k and v, also i8; default: q's
  CaseKeys keys = CaseKeys::kRows;

  /// The error that the type allows, relative to the largest value: rounding in sums over D and
  /// over the keys or rows, which grows with the root of their length.
  double tolerance() const;
};

/// The arguments of `attention` for a case; owns the memory. The same numbers every time.
class AttentionInputs {
 public:
  explicit AttentionInputs(const AttentionCase& problem);

  AttentionArgs args;
  Tensor dout;  // [B, H, Tq, Dv] or [H, total, Dv]
  Tensor dlse;  // [B, H, Tq] or [H, total]; empty if there is no lse
  /// Requests every gradient of the problem, with dlse given.
  AttentionGradRequest request() const;

 private:
  void add_keys(const AttentionCase& problem);
  void add_scores(const AttentionCase& problem);

  std::vector<Tensor> memory_;
};

std::vector<AttentionCase> attention_cases();

/// "none", "band", "band & keep", ...
std::string_view name(CaseMask mask);
std::string_view name(Similarity similarity);

/// Type, extents, mask, layout, scores and keys, as shown by tests and benchmarks.
std::string case_name(const AttentionCase& problem);

/// Keys with the memory that they refer to.
struct HeldKeys {
  std::vector<Tensor> memory;
  Keys keys;
};

/// k [B, G, Tk, D] and v [B, G, Tk, Dv] in the case's type and form.
HeldKeys held_keys(const AttentionCase& problem, const Tensor& k, const Tensor& v);

/// Mean 0, standard deviation `spread`; each `stream` gives different numbers.
inline Tensor normal(const Shape& shape, DType dtype, double spread, std::uint32_t stream) {
  Random random(2024, stream);
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<double>()[i] = spread * random.normal();
  return Tensor::converted(tensor, dtype);
}

}  // namespace heed
