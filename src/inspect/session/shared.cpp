#include "inspect/session/shared.h"

namespace heed {

LayerAttention shared(const LayerAttention& layer) {
  return {.q = layer.q.share(),
          .k = layer.k.share(),
          .v = layer.v.share(),
          .lse = layer.lse.share(),
          .lse_low = layer.lse_low.share(),
          .bias = layer.bias.share(),
          .slopes = layer.slopes.share(),
          .sink = layer.sink.share(),
          .write_lengths = layer.write_lengths.share(),
          .score_error = layer.score_error,
          .extents = layer.extents,
          .mask = layer.mask,
          .scores = layer.scores};
}

Tensor widened(const Tensor& tensor) {
  return tensor.dtype() == DType::kF32 ? tensor.share() : Tensor::converted(tensor, DType::kF32);
}

Session shared(const Session& session) {
  std::vector<SessionStack> stacks;
  for (const SessionStack& stack : session.stacks) {
    stacks.push_back({.shape = stack.shape, .layers = {}});
    for (const LayerAttention& layer : stack.layers) stacks.back().layers.push_back(shared(layer));
  }
  std::vector<StreamLevel> streams;
  for (const StreamLevel& level : session.streams)
    streams.push_back({level.kind, level.stack, level.layer, level.value.share()});
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
          .streams = std::move(streams),
          .tokenizer = session.tokenizer,
          .source_tokenizer = session.source_tokenizer,
          .edits = session.edits,
          .keep = session.keep};
}

}  // namespace heed
