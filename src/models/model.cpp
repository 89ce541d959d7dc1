#include "heed/model.h"

#include <algorithm>

#include "heed/error.h"
#include "heed/generate.h"
#include "models/parts.h"

namespace heed {

bool ModelInfo::ends_with(std::int64_t token) const {
  return std::ranges::find(end_tokens, token) != end_tokens.end();
}

ModelParts Model::parts() const {
  fail({.code = ErrorCode::kUnsupported,
        .op = info().family,
        .found = "its parts are not reported"});
}

std::vector<const Parameter*> Model::parameters() const {
  const std::vector<Parameter*> mine = const_cast<Model*>(this)->parameters();
  return {mine.begin(), mine.end()};
}

namespace {

[[noreturn]] void fail_without_states(const Model& model) {
  fail({.code = ErrorCode::kUnsupported,
        .op = model.info().family,
        .found = "its states are not reported"});
}

}  // namespace

Tensor Model::states(const Batch& /*batch*/, Run& /*run*/) const { fail_without_states(*this); }

void Model::states_backward(const Tensor& /*dstates*/, const Batch& /*batch*/, Run& /*run*/,
                            Gradients& /*gradients*/) const {
  fail_without_states(*this);
}

Tensor Model::read_out(const Tensor& /*stream*/, Run& /*run*/) const {
  fail(info().family, "stream", "given", "none: the model has no words", ErrorCode::kUnsupported);
}

KvCache make_cache(const Model& model, std::int64_t batch, std::int64_t capacity,
                   const KvCacheOptions& options) {
  const ModelInfo& info = model.info();
  const StackShape& writing = info.reads_source() ? info.stacks.at(1) : info.stacks.at(0);
  std::vector<int> recurrent;
  for (int layer = 0; layer < writing.layers; ++layer)
    if (!writing.has(layer)) recurrent.push_back(layer);
  std::vector<KvLayerShape> of_layers;
  for (int layer = 0; layer < std::ssize(writing.of_layers); ++layer) {
    const LayerKeys keys = writing.keys_of(layer);
    of_layers.push_back(keys.from == layer
                            ? KvLayerShape{keys.kv_heads, keys.head_dim, keys.head_dim}
                            : KvLayerShape{});
  }
  return KvCache({.layers = writing.layers,
                  .batch = batch,
                  .kv_heads = writing.kv_heads,
                  .capacity = capacity,
                  .head_dim = writing.head_dim,
                  .value_dim = writing.head_dim,
                  .recurrent = std::move(recurrent),
                  .of_layers = std::move(of_layers)},
                 options);
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter* parameter : model.parameters()) count += parameter->element_count();
  return count;
}

}  // namespace heed
