// The ONNX operators that heed supports: a table of functions from a node's inputs to its outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/tensor.h"
#include "onnx/files.h"

namespace heed::onnx {

/// A node and its inputs.
struct NodeCall {
  const Node& node;
  std::vector<Tensor> inputs;  // in the node's order; not given() if absent

  /// The input at a place of the operator's signature; an empty view if absent.
  ConstView input(std::size_t place) const;
  /// Throws kUnsupported if it is absent: then the test is not for this operator.
  ConstView required(std::size_t place, std::string_view name) const;
  bool wants(std::size_t output) const;

  bool has(const std::string& attribute) const { return node.attributes.contains(attribute); }
  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  double number(const std::string& attribute, double otherwise) const;
  std::string text(const std::string& attribute, const std::string& otherwise) const;
};

struct Operator {
  std::string_view name;
  std::int64_t since;                        // the first opset with this meaning
  std::vector<std::string_view> attributes;  // any other attribute is unknown
  /// Returns the outputs in the signature's order; not given() if the node does not want one.
  std::vector<Tensor> (*run)(const NodeCall& call);
};

/// The opset for which the table was written; newer opsets may have other meanings.
inline constexpr std::int64_t kNewestOpset = 27;

std::span<const Operator> operators();

/// A node's outputs, in the signature's order.
std::vector<Tensor> outputs_of(auto... outputs) {
  std::vector<Tensor> all;
  (all.push_back(std::move(outputs)), ...);
  return all;
}

/// The axis, counted from the front.
int axis_of(const NodeCall& call, std::int64_t otherwise, int rank);

/// [B, T, H D] viewed as [B, H, T, D]; four axes are unchanged.
ConstView with_heads(const ConstView& x, std::int64_t heads, std::string_view what);

/// [B, H, T, D] as [B, T, H D] if the input had three axes.
Tensor packed_heads(Tensor y, bool packed);

}  // namespace heed::onnx
