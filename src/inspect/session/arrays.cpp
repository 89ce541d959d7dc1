#include "heed/inspect/arrays.h"

#include "heed/base/error.h"
#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

struct Where {
  std::string_view stack;
  std::size_t layer;
};

std::string text(const Where& where) {
  return fmt::format("session: {} layer {}", where.stack, where.layer);
}

void check_array(const ConstView& array, const char* name, const Where& where) {
  require(array.given() && array.rank() == 4 && array.dim(0) == 1 && array.dtype() == DType::kF32,
          "{}: {} is not an f32 array [1, heads, length, size] of one sequence", text(where), name);
}

// The tensors that `layer` holds as its own.
LayerAttention copied(const LayerArrays& from, const Where& where) {
  check_array(from.args.q, "q", where);
  check_array(from.args.keys.k, "k", where);
  check_array(from.args.keys.v, "v", where);
  LayerAttention layer{.q = Tensor::copy_of(from.args.q),
                       .k = Tensor::copy_of(from.args.keys.k),
                       .v = Tensor::copy_of(from.args.keys.v),
                       .lse = {},
                       .lse_low = {},
                       .extents = from.args.extents,
                       .mask = from.args.mask,
                       .scores = from.args.scores};
  if (!from.lse.given()) {
    Attended attended = attention(layer.args());
    layer.lse = std::move(attended.lse);
    layer.lse_low = std::move(attended.lse_low);
    return layer;
  }
  const Shape rows = {1, layer.q.dim(1), layer.queries()};
  require(from.lse.shape() == rows && from.lse.dtype() == DType::kF32,
          "{}: lse is not an f32 array [1, {}, {}], one number for each row of q", text(where),
          rows[1], rows[2]);
  layer.lse = Tensor::copy_of(from.lse);
  layer.lse_low =
      from.lse_low.given() ? Tensor::copy_of(from.lse_low) : Tensor::zeros(rows, DType::kF32);
  return layer;
}

SessionStack stack_of(const StackArrays& from) {
  SessionStack stack{.shape = {.stack = from.stack, .causal = true}, .layers = {}};
  const std::string_view name = stack_name(from.stack);
  for (const LayerArrays& arrays : from.layers) {
    stack.layers.push_back(copied(arrays, {name, stack.layers.size()}));
    stack.shape.causal = stack.shape.causal && is_causal(stack.layers.back());
  }
  require(!stack.layers.empty(), "session: {} has no layers, expected at least one", name);
  stack.shape.layers = static_cast<int>(stack.layers.size());
  stack.shape.heads = static_cast<int>(stack.layers[0].q.dim(1));
  stack.shape.kv_heads = static_cast<int>(stack.layers[0].k.dim(1));
  return stack;
}

std::vector<SessionToken> tokens_of(const std::vector<std::string>& names, std::int64_t count) {
  std::vector<SessionToken> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(
        {.id = 0,
         .bytes = names.empty() ? fmt::format("#{}", i) : names[static_cast<std::size_t>(i)]});
  return tokens;
}

void check_layers(const Session& session) {
  for (const SessionStack& stack : session.stacks)
    for (const LayerAttention& layer : stack.layers) {
      const auto index = static_cast<std::size_t>(&layer - stack.layers.data());
      const Where where{stack_name(stack.shape.stack), index};
      const std::int64_t queries = std::ssize(session.queries(stack.shape.stack));
      const std::int64_t keys = std::ssize(session.keys(stack.shape.stack));
      require(layer.queries() == queries && layer.keys() == keys,
              "{}: {} queries and {} keys, expected {} and {}, one a token", text(where),
              layer.queries(), layer.keys(), queries, keys);
      require(layer.q.dim(1) == stack.shape.heads && layer.k.dim(1) == stack.shape.kv_heads,
              "{}: {} heads and {} of k, expected {} and {} as in layer 0", text(where),
              layer.q.dim(1), layer.k.dim(1), stack.shape.heads, stack.shape.kv_heads);
    }
}

// The stack whose rows are the tokens, and whose columns the key tokens.
const SessionStack& outer_stack(const Session& session) {
  for (const SessionStack& stack : session.stacks)
    if (stack.shape.stack == Stack::kCross) return stack;
  return session.stacks.front();
}

ModelInfo info_of(const SessionStack& stack) {
  ModelInfo info;
  info.family = "arrays";
  info.title = "arrays";
  info.layers = stack.shape.layers;
  info.heads = stack.shape.heads;
  info.kv_heads = stack.shape.kv_heads;
  info.head_dim = stack.layers[0].q.dim(3);
  info.positions = stack.layers[0].queries();
  info.causal = stack.shape.causal;
  info.has_logits = false;
  return info;
}

}  // namespace

Session open_session(const SessionArrays& arrays) {
  require(!arrays.stacks.empty(), "session: no stacks of arrays, expected at least one");
  Session session;
  session.model = arrays.name;
  for (const StackArrays& stack : arrays.stacks) session.stacks.push_back(stack_of(stack));
  const SessionStack& outer = outer_stack(session);
  const std::int64_t queries = outer.layers[0].queries(), keys = outer.layers[0].keys();
  require(arrays.tokens.empty() || std::ssize(arrays.tokens) == queries,
          "session: {} tokens for {} queries, expected as many", arrays.tokens.size(), queries);
  require(arrays.key_tokens.empty() || std::ssize(arrays.key_tokens) == keys,
          "session: {} key tokens for {} keys, expected as many", arrays.key_tokens.size(), keys);
  session.tokens = tokens_of(arrays.tokens, queries);
  if (keys != queries || !arrays.key_tokens.empty())
    session.key_tokens = tokens_of(arrays.key_tokens, keys);
  session.info = info_of(outer);
  check_layers(session);
  return session;
}

}  // namespace heed
