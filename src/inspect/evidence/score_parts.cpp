#include "inspect/evidence/score_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "inspect/session/visible_keys.h"

namespace heed {
namespace {

double length_of(std::span<const float> x) {
  constexpr double kShortest = 1e-12;  // for the cosine (attention.h)
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  return std::max(std::sqrt(sum), kShortest);
}

double scale_of(const LayerAttention& layer, int head) {
  const std::vector<double>& scale = layer.scores.scale;
  if (scale.size() > 1) return scale[static_cast<std::size_t>(head)];
  if (!scale.empty()) return scale[0];
  const bool dot = layer.scores.similarity == Similarity::kDot;
  return dot ? 1 / std::sqrt(static_cast<double>(layer.q.dim(3))) : 1;
}

double number(const ConstView& scalar) {
  return Tensor::converted(scalar, DType::kF64).data<double>()[0];
}

// One entry of an array that broadcasts right-aligned to [1, H, Tq, Tk].
double entry(const ConstView& array, const std::vector<std::int64_t>& at) {
  ConstView view = array;
  for (std::size_t axis = at.size() - static_cast<std::size_t>(array.rank()); axis < at.size();
       ++axis)
    view = view.select(0, view.dim(0) == 1 ? 0 : at[axis]);
  return number(view);
}

}  // namespace

HeadRows::HeadRows(const LayerAttention& layer, int head)
    : layer_(layer),
      q_(widened(layer.q)),
      k_(widened(layer.k)),
      v_(widened(layer.v)),
      head_(head),
      kv_head_(head / static_cast<int>(layer.q.dim(1) / layer.k.dim(1))),
      scale_(scale_of(layer, head)) {}

std::span<const float> HeadRows::row(const Tensor& of, int head, std::int64_t at) {
  const auto width = static_cast<std::size_t>(of.dim(3));
  return {of.data<float>() + (head * of.dim(2) + at) * of.dim(3), width};
}

std::vector<double> HeadRows::terms(std::span<const float> query,
                                    std::span<const float> key) const {
  const Similarity similarity = layer_.scores.similarity;
  const double over =
      similarity == Similarity::kCosine ? scale_ / (length_of(query) * length_of(key)) : scale_;
  std::vector<double> terms;
  for (std::size_t d = 0; d < query.size(); ++d) {
    const double q = query[d], k = key[d];
    if (similarity == Similarity::kGaussian)
      terms.push_back(-over * (q - k) * (q - k));
    else if (similarity == Similarity::kAbsolute)
      terms.push_back(-over * std::abs(q - k));
    else
      terms.push_back(over * q * k);
  }
  return terms;
}

double HeadRows::capped(double raw) const {
  const double cap = layer_.scores.softcap;
  return cap > 0 ? cap * std::tanh(raw / cap) : raw;
}

double HeadRows::bias(std::int64_t i, std::int64_t j) const {
  const ConstView& bias = layer_.scores.bias;
  return bias.given() ? entry(bias, {0, head_, i, j}) : 0;
}

double HeadRows::alibi(std::int64_t i, std::int64_t j) const {
  const ConstView& slopes = layer_.scores.alibi;
  if (!slopes.given()) return 0;
  const MaskPlace place = place_of(layer_, head_);
  const std::int64_t distance = std::abs(i + place.q_offset - j - place.key_offset);
  return -number(slopes.select(0, head_)) * static_cast<double>(distance);
}

std::vector<std::int64_t> HeadRows::visible_keys(std::int64_t i) const {
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(layer_.keys()));
  visible_bits(layer_, head_, {i, i + 1, 0, layer_.keys()}, by_key.data());
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < layer_.keys(); ++key)
    if (by_key[static_cast<std::size_t>(key)] != 0) keys.push_back(key);
  return keys;
}

void turn(std::span<double> x, const Turns& turns, double tokens) {
  for (std::size_t n = 0; n < turns.angles.size(); ++n) {
    const double cosine = std::cos(tokens * turns.angles[n]);
    const double sine = std::sin(tokens * turns.angles[n]);
    const auto [first, second] = turns.pair(n);
    const double a = x[first], b = x[second];
    x[first] = a * cosine - b * sine;
    x[second] = b * cosine + a * sine;
  }
}

}  // namespace heed
