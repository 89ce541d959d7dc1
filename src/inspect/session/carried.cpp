#include "inspect/session/carried.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attention/api/without_values.h"
#include "heed/error.h"
#include "inspect/session/shared.h"
#include "inspect/session/write_lengths.h"

namespace heed {
namespace {

// ln of the lengths, [1, H, 1, Tk]. A bias of -inf would hide the key, which is there.
Tensor logarithms(const Tensor& lengths) {
  constexpr float kNothing = 1e-30F;
  Tensor logs = Tensor::empty({1, lengths.dim(0), 1, lengths.dim(1)});
  std::transform(lengths.data<float>(), lengths.data<float>() + lengths.element_count(),
                 logs.data<float>(),
                 [&](float length) { return std::log(std::max(length, kNothing)); });
  return logs;
}

// With the layer's own bias, which is one number a cell.
Tensor added(const LayerAttention& layer, const Tensor& logs) {
  const Shape cells = {1, layer.q.dim(1), layer.queries(), layer.keys()};
  Tensor sum = Tensor::converted(layer.scores.bias.broadcast_to(cells), DType::kF32);
  float* into = sum.data<float>();
  for (std::int64_t head = 0; head < cells[1]; ++head)
    for (std::int64_t query = 0; query < cells[2]; ++query, into += cells[3])
      std::transform(into, into + cells[3], logs.data<float>() + head * cells[3], into,
                     std::plus<>());
  return sum;
}

}  // namespace

LayerAttention carried(const LayerAttention& layer) {
  if (layer.scores.normaliser != Normaliser::kSoftmax)
    fail({.code = ErrorCode::kUnsupported,
          .op = "session",
          .argument = "carried",
          .found = "asked for",
          .expected = "weights of a softmax: no others are shares of a row"});
  if (layer.v.dim(3) == 0)
    fail({.code = ErrorCode::kUnsupported,
          .op = "session",
          .argument = "carried",
          .found = "asked for",
          .expected = "values: this session has none"});
  LayerAttention shares = shared(layer);
  const Tensor logs = logarithms(lengths_carried(layer));
  shares.bias = layer.scores.bias.given() ? added(layer, logs) : logs.share();
  shares.scores.bias = shares.bias;
  shares.scores.sink = {};
  Attended attended = attention(without_values(shares.args()));
  shares.lse = std::move(attended.lse);
  shares.lse_low = std::move(attended.lse_low);
  return shares;
}

}  // namespace heed
