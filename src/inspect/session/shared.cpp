#include "inspect/session/shared.h"

namespace heed {
namespace {

LayerAttention shared(const LayerAttention& layer) {
  return {.q = layer.q.share(),
          .k = layer.k.share(),
          .v = layer.v.share(),
          .lse = layer.lse.share(),
          .lse_low = layer.lse_low.share(),
          .bias = layer.bias.share(),
          .extents = layer.extents,
          .mask = layer.mask,
          .scores = layer.scores};
}

}  // namespace

Session shared(const Session& session) {
  std::vector<SessionStack> stacks;
  for (const SessionStack& stack : session.stacks) {
    stacks.push_back({.shape = stack.shape, .layers = {}});
    for (const LayerAttention& layer : stack.layers) stacks.back().layers.push_back(shared(layer));
  }
  return {.model = session.model,
          .built_in = session.built_in,
          .info = session.info,
          .tokens = session.tokens,
          .key_tokens = session.key_tokens,
          .types = session.types,
          .split = session.split,
          .stacks = std::move(stacks),
          .logits = session.logits.share(),
          .hidden = session.hidden.share(),
          .tokenizer = session.tokenizer,
          .source_tokenizer = session.source_tokenizer,
          .edits = session.edits};
}

}  // namespace heed
