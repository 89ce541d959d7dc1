// The operators of ONNX that heed serves: a table of functions from a node's inputs to its outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tensor.h"
#include "onnx/files.h"

namespace heed::onnx {

/// A node and what goes into it.
struct NodeCall {
  const Node& node;
  std::vector<Tensor> inputs;  // as the node lists them; not given() where absent

  /// The input at a place of the operator's signature; the empty view where it is absent.
  ConstView input(std::size_t place) const;
  /// kUnsupported where it is absent: the test is not one of this operator.
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
  std::vector<std::string_view> attributes;  // any other one is not known
  /// The outputs in the order of the signature; not given() where the node does not want one.
  std::vector<Tensor> (*run)(const NodeCall& call);
};

/// The opset that the table was written against; what a newer one means is not known.
inline constexpr std::int64_t kNewestOpset = 27;

std::span<const Operator> operators();

/// An axis counted from the front.
int axis_of(const NodeCall& call, std::int64_t otherwise, int rank);

}  // namespace heed::onnx
