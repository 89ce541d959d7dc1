// The arguments of an attention and of its backward pass, as options of `attend` and `explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/option.h"
#include "heed/attention.h"

namespace heed::cli {

struct AttentionOptions {
  std::string q, k, v;  // paths of .npy files, like all texts named after an array
  std::string causal;   // "top-left", "bottom-right" or none
  std::vector<std::int64_t> window;
  std::string keep, prefix, blocks;
  std::vector<std::string> segments;  // ids of queries and keys, or of both
  std::vector<std::string> edges;     // pairs, or row starts and columns
  std::vector<std::int64_t> block_size;
  std::string query_lengths, key_lengths, key_begin, q_offset, key_offset, packed_q, packed_k;
  std::string page_table, ring_begin, k_scales, v_scales;
  std::vector<double> scale;
  std::string similarity = "dot";
  std::string normaliser = "softmax";
  double softcap = 0;
  std::string bias, alibi, sink;
  std::optional<double> dropout;
  std::uint64_t seed = 0;
  std::uint32_t dropout_offset = 0;
  std::vector<std::string> grad_of;  // dq, dk, ...; empty: all that are possible
  std::string dtype;
  std::string kernel;
};

/// Declares all options except the positional Q K V.
void add_attention_options(OptionList& list, AttentionOptions& options);

/// A problem, and the memory of its views.
struct AttentionProblemData {
  Tensor q, k, v, page_table, k_scales, v_scales, keep, blocks, bias, alibi, sink;
  AttentionArgs args;
  int rank = 4;  // of the inputs: 2 for [T, D], 3 for [H, T, D] or packed, 4 for [B, H, T, D]

  bool packed() const { return !args.extents.query_starts.empty(); }
};

/// Reads Q, K, V and the other arrays.
AttentionProblemData read_problem(const AttentionOptions& options);

/// The same without data, only shapes, for planning. `shape` is B,H,G,Tq,Tk,D,Dv.
AttentionProblemData shape_problem(const AttentionOptions& options,
                                   const std::vector<std::int64_t>& shape);

/// --causal, --window and all other mask options.
void add_mask_options(OptionList& list, AttentionOptions& options);

/// The mask described by the options. It refers to tensors in `problem`, whose shapes must be
/// known.
Mask read_mask(const AttentionOptions& options, AttentionProblemData& problem);

/// Reads an array as `dtype` unless that is empty; its rank must be `rank` unless that is 0.
Tensor read_array(const std::string& path, int rank, const std::string& dtype);

/// A list of i64 or i32; empty without a path.
std::vector<std::int64_t> read_integers(const std::string& path);

/// [T, D] and [H, T, D] as [B, H, T, D], unless the problem is packed.
ConstView lifted(const Tensor& array, bool packed = false);

/// Removes the leading axes that `lifted` added.
ConstView lowered(const Tensor& array, int rank);

/// The output's shape and first rows, the range of the log-sum-exp, the mask and the kernel.
std::string attend_summary(const AttentionProblemData& problem, const Attended& attended);

struct NamedGradient {
  const char* name;    // of the gradient and of its file
  const char* option;  // the option of its operand
  bool AttentionGradRequest::* asked;
  Tensor AttentionGrads::* tensor;
};

inline constexpr NamedGradient kGradients[] = {
    {"dq", "Q", &AttentionGradRequest::dq, &AttentionGrads::dq},
    {"dk", "K", &AttentionGradRequest::dk, &AttentionGrads::dk},
    {"dv", "V", &AttentionGradRequest::dv, &AttentionGrads::dv},
    {"dbias", "--bias", &AttentionGradRequest::dbias, &AttentionGrads::dbias},
    {"dsink", "--sink", &AttentionGradRequest::dsink, &AttentionGrads::dsink},
    {"dslope", "--alibi", &AttentionGradRequest::dslope, &AttentionGrads::dslope},
    {"dscale", "--scale", &AttentionGradRequest::dscale, &AttentionGrads::dscale}};

/// --grad-of.
Option grad_of_option(AttentionOptions& options);

/// The gradients named by --grad-of; by default, those of all given inputs.
AttentionGradRequest grad_request(const AttentionOptions& options, const AttentionArgs& args);

}  // namespace heed::cli
