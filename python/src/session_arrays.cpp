// Sessions from arrays computed elsewhere.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "computing.h"
#include "errors.h"
#include "heed/inspect/arrays.h"
#include "problem.h"
#include "seen.h"
#include "session.h"

namespace heed::python {
namespace {

using Layers = std::vector<const Seen*>;

// A session stores float32: converts other elements into `made`.
ConstView as_f32(const ConstView& array, const char* argument, std::vector<Tensor>& made) {
  if (array.dtype() == DType::kF32) return array;
  if (!is_floating(array.dtype()))
    fail_type(argument, name(array.dtype()),
              "floating elements: a session is not of quantised keys");
  made.push_back(Tensor::converted(array, DType::kF32));
  return made.back();
}

// The session copies q, k and v; it refers to everything else as long as it lives.
Problem without_arrays(const Problem& problem) {
  Problem rest = {.args = {}, .mask = problem.mask, .memory = {}};
  const AttentionArgs& args = problem.args;
  for (const Borrowed& memory : problem.memory) {
    const void* const at = memory.view.raw();
    if (at != args.q.raw() && at != args.keys.k.raw() && at != args.keys.v.raw())
      rest.memory.push_back(memory);
  }
  return rest;
}

LayerArrays layer_of(const Seen& seen, std::optional<std::int64_t> sequence,
                     std::vector<Tensor>& made) {
  const AttentionArgs args =
      sequence ? one_sequence(seen.problem.args, *sequence) : seen.problem.args;
  if (!seen.problem.has_lse())
    fail({.code = ErrorCode::kUnsupported,
          .op = "session",
          .argument = "normaliser",
          .found = "none that divides by a sum",
          .expected = "\"softmax\", whose rows sum to 1"});
  LayerArrays layer = {.args = args};
  layer.args.dropout.reset();
  layer.args.q = as_f32(args.q, "q", made);
  layer.args.keys.k = as_f32(args.keys.k, "k", made);
  layer.args.keys.v = as_f32(args.keys.v, "v", made);
  AttendedConstView attended = seen.attended();
  if (sequence) {
    attended.lse = one_sequence(attended.lse, *sequence);
    attended.lse_low = one_sequence(attended.lse_low, *sequence);
  }
  layer.lse = as_f32(attended.lse, "lse", made);
  if (attended.lse_low.given()) layer.lse_low = as_f32(attended.lse_low, "lse_low", made);
  return layer;
}

std::vector<std::string> strings(const std::vector<nb::bytes>& tokens) {
  std::vector<std::string> list;
  list.reserve(tokens.size());
  for (const nb::bytes& each : tokens) list.emplace_back(each.c_str(), each.size());
  return list;
}

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& each : tokens) text += each;
  return text;
}

// The texts spelled by the tokens, as a model would have read them.
SessionInput input_of(const SessionArrays& arrays) {
  if (arrays.key_tokens.empty()) return {.text = joined(arrays.tokens)};
  return {.text = joined(arrays.key_tokens), .pair = {}, .target = joined(arrays.tokens)};
}

SessionHandle open_arrays(const std::string& name, const std::vector<nb::bytes>& tokens,
                          const std::vector<nb::bytes>& key_tokens,
                          const std::vector<std::pair<std::string, Layers>>& stacks,
                          std::optional<std::int64_t> sequence, std::optional<std::int64_t> split,
                          bool only_weights) {
  auto held = std::make_shared<HeldSession>();
  std::vector<Tensor> made;
  SessionArrays arrays = {.name = name,
                          .tokens = strings(tokens),
                          .key_tokens = strings(key_tokens),
                          .stacks = {},
                          .split = split,
                          .only_weights = only_weights};
  held->input = input_of(arrays);
  for (const auto& [stack, layers] : stacks) {
    const std::optional<Stack> named = stack_of(stack);
    if (!named)
      fail("session", "stack", "\"" + stack + "\"",
           "\"self\", \"encoder\", \"decoder\" or \"cross\"");
    arrays.stacks.push_back({.stack = *named, .layers = {}});
    for (const Seen* const seen : layers) {
      arrays.stacks.back().layers.push_back(layer_of(*seen, sequence, made));
      held->problems.push_back(without_arrays(seen->problem));
    }
  }
  computing([&] { held->session = open_session(arrays); });
  return held;
}

}  // namespace

void bind_session_arrays(nb::module_& module) {
  module.def("open_arrays", &open_arrays, nb::arg("name"), nb::arg("tokens"), nb::arg("key_tokens"),
             nb::arg("stacks"), nb::arg("sequence").none(), nb::arg("split").none(),
             nb::arg("only_weights"));
}

}  // namespace heed::python
