// The arguments of one attention, as `attend` and `explain` take them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "heed/ops/attention.h"

namespace heed::cli {

struct AttentionOptions {
  std::string q, k, v;  // .npy files
  std::string causal;   // "top-left", "bottom-right" or none
  std::vector<std::int64_t> window;
  std::string keep;
  std::string query_lengths, key_lengths, key_begin, q_offset;
  std::optional<double> scale;
  std::string dtype;
  std::string kernel;
};

/// Declares everything but the positional Q K V.
void add_attention_options(CLI::App& app, AttentionOptions& options);

/// A problem with the memory that its views look at.
struct AttentionProblemData {
  Tensor q, k, v, keep;
  AttentionArgs args;
  int rank = 4;  // of the inputs: 2 is [T, D], 3 is [H, T, D], 4 is [B, H, T, D]
};

/// Reads Q, K, V and the rest.
AttentionProblemData read_problem(const AttentionOptions& options);

/// The same without data: shapes alone, for planning. `shape` is B,H,G,Tq,Tk,D,Dv.
AttentionProblemData shape_problem(const AttentionOptions& options,
                                   const std::vector<std::int64_t>& shape);

/// Reads an array, in `dtype` unless that is empty; its rank must be `rank` unless that is 0.
Tensor read_array(const std::string& path, int rank, const std::string& dtype);

/// [T, D] and [H, T, D] as [B, H, T, D].
ConstView lifted(const Tensor& array);

/// The leading axes that `lifted` put on, taken off.
ConstView lowered(const Tensor& array, int rank);

}  // namespace heed::cli
