// Opens a session from arrays that were computed elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "attention/api/without_values.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/session.h"
#include "inspect/session/carried.h"
#include "inspect/session/images.h"
#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

constexpr const char* kOnlyWeights = "weights";  // ModelInfo::family

// "cross layer 1"
std::string place_of(Stack stack, std::size_t layer) {
  return fmt::format("{} layer {}", stack_name(stack), layer);
}

[[noreturn]] void refuse(const std::string& place, const char* array, std::string found,
                         std::string expected) {
  fail({.op = "session",
        .place = place,
        .argument = array,
        .found = std::move(found),
        .expected = std::move(expected)});
}

void check_array(const ConstView& array, const char* name, const std::string& place) {
  if (!array.given()) refuse(place, name, "", "an f32 array [1, heads, length, size]");
  if (array.rank() != 4 || array.dim(0) != 1 || array.dtype() != DType::kF32)
    refuse(place, name,
           fmt::format("{} of {}", to_string(array.shape()), heed::name(array.dtype())),
           "an f32 array [1, heads, length, size]");
}

// Checks the arrays and returns a layer with copies of them.
LayerAttention copied(const LayerArrays& from, const std::string& place) {
  check_array(from.args.q, "q", place);
  check_array(from.args.keys.k, "k", place);
  check_array(from.args.keys.v, "v", place);
  LayerAttention layer{.q = Tensor::copy_of(from.args.q),
                       .k = Tensor::copy_of(from.args.keys.k),
                       .v = Tensor::copy_of(from.args.keys.v),
                       .lse = {},
                       .lse_low = {},
                       .extents = from.args.extents,
                       .mask = from.args.mask,
                       .scores = from.args.scores};
  if (!from.lse.given()) {
    Attended attended = attention(without_values(layer.args()));
    layer.lse = std::move(attended.lse);
    layer.lse_low = std::move(attended.lse_low);
    return layer;
  }
  const Shape rows = {1, layer.q.dim(1), layer.queries()};
  if (from.lse.shape() != rows || from.lse.dtype() != DType::kF32)
    refuse(place, "lse",
           fmt::format("{} of {}", to_string(from.lse.shape()), name(from.lse.dtype())),
           fmt::format("f32 {}, one number per row of q", to_string(rows)));
  layer.lse = Tensor::copy_of(from.lse);
  layer.lse_low =
      from.lse_low.given() ? Tensor::copy_of(from.lse_low) : Tensor::zeros(rows, DType::kF32);
  return layer;
}

// The first layer that has attention.
const LayerAttention& first_of(const SessionStack& stack) {
  return *std::ranges::find_if(stack.layers, &LayerAttention::is_kept);
}

SessionStack stack_of(const StackArrays& from) {
  SessionStack stack{.shape = {.stack = from.stack, .causal = true}, .layers = {}};
  StackShape& shape = stack.shape;
  for (const LayerArrays& arrays : from.layers) {
    stack.layers.emplace_back();
    if (!arrays.args.q.given()) continue;
    stack.layers.back() = copied(arrays, place_of(from.stack, stack.layers.size() - 1));
    shape.attending.push_back(static_cast<int>(stack.layers.size()) - 1);
    shape.causal = shape.causal && is_causal(stack.layers.back());
  }
  if (shape.attending.empty())
    fail("session", "layers", stack.layers.empty() ? "empty" : "without a layer that has q",
         fmt::format("at least one of {}", stack_name(from.stack)));
  shape.layers = static_cast<int>(stack.layers.size());
  shape.heads = static_cast<int>(first_of(stack).q.dim(1));
  shape.kv_heads = static_cast<int>(first_of(stack).k.dim(1));
  if (shape.attention_layers() == shape.layers) shape.attending.clear();
  return stack;
}

std::vector<SessionToken> tokens_of(const std::vector<std::string>& names, std::int64_t count) {
  std::vector<SessionToken> tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  if (names.empty())
    for (std::int64_t i = 0; i < count; ++i) tokens.push_back({.bytes = fmt::format("#{}", i)});
  std::int64_t begin = 0;  // in the text that the names spell
  for (const std::string& name : names) {
    const std::int64_t end = begin + std::ssize(name);
    tokens.push_back({.bytes = name, .begin = begin, .end = end});
    begin = end;
  }
  return tokens;
}

void check_names(const char* argument, const std::vector<std::string>& names, std::int64_t count) {
  if (!names.empty() && std::ssize(names) != count)
    fail("session", argument, fmt::format("a list of {}", names.size()),
         fmt::format("none, or {}", count));
}

void check_layers(const Session& session) {
  for (const SessionStack& stack : session.stacks)
    for (const LayerAttention& layer : stack.layers) {
      if (!layer.is_kept()) continue;
      const auto index = static_cast<std::size_t>(&layer - stack.layers.data());
      const std::string place = place_of(stack.shape.stack, index);
      const auto [queries, keys] = session.size(stack.shape.stack);
      if (layer.queries() != queries)
        refuse(place, "q", number_of(layer.queries(), "query", "queries"),
               fmt::format("{}, one per token", queries));
      if (layer.keys() != keys)
        refuse(place, "k", number_of(layer.keys(), "key"), fmt::format("{}, one per token", keys));
      if (layer.q.dim(1) != stack.shape.heads || layer.k.dim(1) != stack.shape.kv_heads)
        refuse(place, "q",
               fmt::format("{} on {} of k", number_of(layer.q.dim(1), "head"), layer.k.dim(1)),
               fmt::format("{} on {}, as in the first layer", stack.shape.heads,
                           stack.shape.kv_heads));
    }
}

// Returns the first layer whose queries are the tokens, or whose keys are the key tokens: a layer
// of the cross-attention if there is one, else of the stack on that side.
const LayerAttention& side_of(const Session& session, Stack side) {
  const LayerAttention* found = nullptr;
  for (const SessionStack& stack : session.stacks) {
    if (stack.shape.stack == Stack::kCross) return first_of(stack);
    if (found == nullptr || stack.shape.stack == side) found = &first_of(stack);
  }
  return *found;
}

void split_at(std::int64_t split, std::vector<SessionToken>& tokens) {
  if (split <= 0 || split >= std::ssize(tokens))
    fail("session", "split", fmt::format("{}", split),
         fmt::format("1 to {}: the first token of the second text", std::ssize(tokens) - 1));
  for (std::int64_t at = split; at < std::ssize(tokens); ++at)
    tokens[static_cast<std::size_t>(at)].text = 1;
}

ModelInfo info_of(const SessionStack& stack, bool only_weights) {
  ModelInfo info;
  info.family = only_weights ? kOnlyWeights : "arrays";
  info.title = info.family;
  info.layers = stack.shape.attention_layers();
  info.heads = stack.shape.heads;
  info.kv_heads = stack.shape.kv_heads;
  info.head_dim = first_of(stack).q.dim(3);
  info.positions = first_of(stack).queries();
  info.causal = stack.shape.causal;
  info.has_logits = false;
  return info;
}

}  // namespace

Session open_session(const SessionArrays& arrays) {
  if (arrays.stacks.empty()) fail("session", "stacks", "empty", "at least one");
  Session session;
  session.model = arrays.name;
  for (const StackArrays& stack : arrays.stacks) session.stacks.push_back(stack_of(stack));
  const std::int64_t queries = side_of(session, Stack::kDecoder).queries();
  const std::int64_t keys = side_of(session, Stack::kEncoder).keys();
  check_names("tokens", arrays.tokens, queries);
  check_names("key_tokens", arrays.key_tokens, keys);
  session.tokens = tokens_of(arrays.tokens, queries);
  if (keys != queries || !arrays.key_tokens.empty())
    session.key_tokens = tokens_of(arrays.key_tokens, keys);
  if (arrays.split) split_at(*arrays.split, session.tokens);
  session.split = arrays.split;
  session.info = info_of(session.stacks.front(), arrays.only_weights);
  check_layers(session);
  add_images(session, arrays.images);
  for (SessionStack& stack : session.stacks)  // once here, not for each cell of each answer
    for (LayerAttention& layer : stack.layers)
      if (layer.is_kept() && layer.v.dim(3) > 0) layer.write_lengths = lengths_carried(layer);
  return session;
}

bool has_only_weights(const Session& session) { return session.info.family == kOnlyWeights; }

}  // namespace heed
