#include "heed/models/model.h"

namespace heed {

std::vector<const Parameter*> Model::parameters() const {
  const std::vector<Parameter*> mine = const_cast<Model*>(this)->parameters();
  return {mine.begin(), mine.end()};
}

KvCache make_cache(const Model& model, std::int64_t batch, std::int64_t capacity,
                   const KvCacheOptions& options) {
  const ModelInfo& info = model.info();
  return KvCache({.layers = info.layers,
                  .batch = batch,
                  .kv_heads = info.kv_heads,
                  .capacity = capacity,
                  .head_dim = info.head_dim,
                  .value_dim = info.head_dim},
                 options);
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter* parameter : model.parameters()) count += parameter->element_count();
  return count;
}

}  // namespace heed
