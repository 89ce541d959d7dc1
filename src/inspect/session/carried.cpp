#include "inspect/session/carried.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "attention/api/without_values.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "inspect/session/visible_keys.h"
#include "models/parts.h"
#include "ops/matmul.h"

namespace heed {
namespace {

// Computes |W v| for many v as |R v| with W^T W = R^T R: D^2 multiplications per token instead of D
// times the model's width. The Gram matrix and its Cholesky factor R are in double. Directions that
// W nearly maps to 0 then keep their length to float precision.

// Returns W^T W in double for columns [first, first + size) of W [C, H D].
std::vector<double> gram_of(const ConstView& w, std::int64_t first, std::int64_t size) {
  std::vector<double> gram(static_cast<std::size_t>(size * size));
  for (std::int64_t c = 0; c < w.dim(0); ++c) {
    const float* const row = w.data<float>() + c * w.stride(0) + first;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto x = static_cast<double>(row[i]);
      double* const into = gram.data() + i * size;
      for (std::int64_t j = i; j < size; ++j) into[j] += x * static_cast<double>(row[j]);
    }
  }
  return gram;
}

// Returns the upper triangular R with R^T R = the given matrix, of which only the upper half is
// read. A direction that W maps to 0 gets a row of zeros.
Tensor cholesky(std::vector<double> gram, std::int64_t size) {
  constexpr double kLost = 1e-14;  // relative to the direction's squared length: double rounding
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
    return gram[static_cast<std::size_t>(i * size + j)];
  };
  Tensor factor = Tensor::zeros({size, size}, DType::kF32);
  for (std::int64_t i = 0; i < size; ++i) {
    const double whole = at(i, i);
    double left = whole;
    for (std::int64_t k = 0; k < i; ++k) left -= at(k, i) * at(k, i);
    const double pivot = left > kLost * whole ? std::sqrt(left) : 0;
    for (std::int64_t j = size - 1; j >= i; --j) {
      double sum = at(i, j);
      for (std::int64_t k = 0; k < i; ++k) sum -= at(k, i) * at(k, j);
      at(i, j) = pivot > 0 ? sum / pivot : 0;
      factor.data<float>()[i * size + j] = static_cast<float>(at(i, j));
    }
  }
  return factor;
}

// The length of each row of x [N, n].
void row_lengths(const ConstView& x, float* into) {
  const std::int64_t step = x.stride(1);
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    double sum = 0;
    const float* const values = x.data<float>() + row * x.stride(0);
    for (std::int64_t c = 0; c < x.dim(1); ++c)
      sum += static_cast<double>(values[c * step]) * static_cast<double>(values[c * step]);
    into[row] = static_cast<float>(std::sqrt(sum));
  }
}

// Null for gated heads: what a key writes depends on the query's gate.
const Attention* attention_at(const ModelParts& parts, Stack stack, int layer) {
  for (const StreamParts& stream : parts.streams)
    for (const BranchParts& branch : stream.branches)
      if (branch.attention != nullptr && branch.stack == stack && branch.layer == layer)
        return branch.attention->shape().gated ? nullptr : branch.attention;
  return nullptr;
}

}  // namespace

Tensor write_lengths(const Attention& attention, const Tensor& v) {
  const std::int64_t heads = attention.shape().heads, shared = heads / v.dim(1);
  const std::int64_t keys = v.dim(2), size = v.dim(3);
  const Tensor w = attention.parts().out.rows_of_weight();  // [C, H D]
  Tensor lengths = Tensor::empty({heads, keys});
  parallel_for(heads, [&](std::int64_t head, int) {
    const ConstView values = v.view().select(0, 0).select(0, head / shared);  // [Tk, D]
    const ConstView own = w.view().slice(1, head * size, (head + 1) * size);  // [C, D]
    // With few tokens, multiplying by W directly is cheaper than computing the factor.
    const bool is_short = keys < size;
    const Tensor factor = is_short ? Tensor() : cholesky(gram_of(w, head * size, size), size);
    const ConstView through = is_short ? own : factor.view();
    row_lengths(matmul({.a = values, .b = through.permute({1, 0})}).view(),
                lengths.data<float>() + head * keys);
  });
  return lengths;
}

void measure_writes(Session& session, const LoadedModel& model) {
  ModelParts parts;
  try {
    parts = model.model->parts();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
  }
  for (SessionStack& stack : session.stacks)
    for (std::size_t layer = 0; layer < stack.layers.size(); ++layer) {
      const Attention* const attention =
          attention_at(parts, stack.shape.stack, static_cast<int>(layer));
      LayerAttention& own = stack.layers[layer];
      if (attention != nullptr && own.is_kept())
        own.write_lengths = write_lengths(*attention, widened(own.v));
    }
}

Tensor lengths_carried(const LayerAttention& layer) {
  if (layer.write_lengths.given()) return layer.write_lengths.share();
  const Tensor v = widened(layer.v);
  const ConstView values = v.view().select(0, 0);  // [G, Tk, Dv]
  const std::int64_t heads = layer.q.dim(1), shared = heads / values.dim(0);
  Tensor lengths = Tensor::empty({heads, layer.keys()});
  parallel_for(heads, [&](std::int64_t head, int) {
    row_lengths(values.select(0, head / shared), lengths.data<float>() + head * layer.keys());
  });
  return lengths;
}

namespace {

// Returns ln of the lengths, [1, H, 1, Tk], finite even for length 0: a bias of -inf would hide a
// visible key.
Tensor logarithms(const Tensor& lengths) {
  constexpr float kNothing = 1e-30F;
  Tensor logs = Tensor::empty({1, lengths.dim(0), 1, lengths.dim(1)});
  std::transform(lengths.data<float>(), lengths.data<float>() + lengths.element_count(),
                 logs.data<float>(),
                 [&](float length) { return std::log(std::max(length, kNothing)); });
  return logs;
}

// Adds the layer's own bias, which has one number per cell.
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
    fail("session", "carried", "asked for", "weights of a softmax: no others are shares of a row",
         ErrorCode::kUnsupported);
  if (layer.v.dim(3) == 0)
    fail("session", "carried", "asked for", "values: this session has none",
         ErrorCode::kUnsupported);
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
