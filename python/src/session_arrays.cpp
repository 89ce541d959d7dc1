// Sessions from arrays computed elsewhere.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "computing.h"
#include "errors.h"
#include "heed/session.h"
#include "problem.h"
#include "seen.h"
#include "session.h"

namespace heed::python {
namespace {

using Layers = std::vector<nb::object>;  // each a Seen; None: a layer without attention
// The members of a SessionImage, in their order.
using ImageParts = std::tuple<bool, bool, std::int64_t, std::int64_t, std::vector<std::int64_t>,
                              nb::bytes, std::string>;

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

std::vector<SessionImage> images_of(const std::vector<ImageParts>& parts) {
  std::vector<SessionImage> images;
  for (const auto& [of_queries, of_keys, rows, columns, tokens, picture, name] : parts)
    images.push_back({.of_queries = of_queries,
                      .of_keys = of_keys,
                      .rows = rows,
                      .columns = columns,
                      .tokens = tokens,
                      .picture = {picture.c_str(), picture.size()},
                      .name = name});
  return images;
}

// Cells of images spell nothing.
std::string spelt_by(const std::vector<SessionToken>& tokens) {
  std::string text;
  for (const SessionToken& each : tokens)
    if (each.end > each.begin) text += each.bytes;
  return text;
}

// The texts that the tokens spell, as a model would have read them.
SessionInput input_of(const Session& session, bool has_key_names) {
  if (!has_key_names) return {.text = spelt_by(session.tokens)};
  return {.text = spelt_by(session.key_tokens), .pair = {}, .target = spelt_by(session.tokens)};
}

SessionHandle open_arrays(const std::string& name, const std::vector<nb::bytes>& tokens,
                          const std::vector<nb::bytes>& key_tokens,
                          const std::vector<std::pair<std::string, Layers>>& stacks,
                          std::optional<std::int64_t> sequence, std::optional<std::int64_t> split,
                          bool only_weights, const std::vector<ImageParts>& images) {
  auto held = std::make_shared<HeldSession>();
  std::vector<Tensor> made;
  SessionArrays arrays = {.name = name,
                          .tokens = strings(tokens),
                          .key_tokens = strings(key_tokens),
                          .stacks = {},
                          .split = split,
                          .images = images_of(images),
                          .only_weights = only_weights};
  for (const auto& [stack, layers] : stacks) {
    const std::optional<Stack> named = stack_of(stack);
    if (!named)
      fail("session", "stack", "\"" + stack + "\"",
           "\"self\", \"encoder\", \"decoder\" or \"cross\"");
    arrays.stacks.push_back({.stack = *named, .layers = {}});
    for (const nb::object& layer : layers) {
      arrays.stacks.back().layers.emplace_back();
      if (layer.is_none()) continue;
      const Seen& seen = nb::cast<const Seen&>(layer);
      arrays.stacks.back().layers.back() = layer_of(seen, sequence, made);
      held->problems.push_back(without_arrays(seen.problem));
    }
  }
  computing([&] { held->session = open_session(arrays); });
  held->input = input_of(held->session, !arrays.key_tokens.empty());
  return held;
}

}  // namespace

void bind_session_arrays(nb::module_& module) {
  module.def("open_arrays", &open_arrays, nb::arg("name"), nb::arg("tokens"), nb::arg("key_tokens"),
             nb::arg("stacks"), nb::arg("sequence").none(), nb::arg("split").none(),
             nb::arg("only_weights"), nb::arg("images"));
}

}  // namespace heed::python
