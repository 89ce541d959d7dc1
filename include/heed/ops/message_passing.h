// Attention on a graph: every node gathers its neighbours.
#pragma once

#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// A directed graph in compressed sparse rows: node i hears the nodes columns[row_starts[i]] ..
/// columns[row_starts[i + 1] - 1], which rise strictly. Both i32 or i64.
struct Graph {
  ConstView row_starts = {};  // [N + 1]
  ConstView columns = {};     // [edges]
};

/// y_i = sum over neighbours j of softmax_j(scale x_i . x_j) x_j: `attention` with the mask
/// `edges` and identity projections, Q = K = V = x (Veličković et al. 2018 with a dot product for
/// the score). A node without neighbours gets 0. Types, NaN and determinism as `attention`.
struct MessagePassingArgs {
  ConstView x = {};  // [N, C]
  Graph graph = {};
  std::vector<double> scale = {};  // empty: 1 / sqrt(C); or one number
  std::string kernel = {};         // of attention
};

Tensor message_passing(const MessagePassingArgs& args);

/// dx [N, C] for the cotangent dy: what x gets as query, as key and as value together.
Tensor message_passing_backward(const MessagePassingArgs& args, const ConstView& dy);

}  // namespace heed
