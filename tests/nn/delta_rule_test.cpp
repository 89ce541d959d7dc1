// The gated delta rule beside plain loops in f64.
#include "nn/delta_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heed/generate.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using Counts = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

constexpr std::int64_t kWidth = 5;
constexpr DeltaRuleShape kRule = {
    .heads = 4, .key_heads = 2, .key_dim = 3, .value_dim = 6, .kernel = 3, .epsilon = 1e-5};

struct Layer {
  DeltaRule rule{"0.", {}, kWidth, kRule, /*layer=*/0};
  std::vector<Parameter*> parameters;

  Layer() {
    rule.collect(parameters);
    std::uint64_t seed = 10;
    for (Parameter* parameter : parameters)
      parameter->value = test::random_tensor(parameter->value.shape(), seed++);
  }
  const float* numbers(const std::string& name) const {
    for (const Parameter* parameter : parameters)
      if (parameter->name == "0.linear_attn." + name) return parameter->value.data<float>();
    throw std::out_of_range(name);
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }

// weight [out, in] times x.
Numbers times(const float* weight, std::int64_t out, const Numbers& x) {
  Numbers y;
  for (std::int64_t o = 0; o < out; ++o) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(weight[static_cast<std::size_t>(o) * x.size() + i]) * x[i];
    y.push_back(sum);
  }
  return y;
}

Numbers slice_of(const Numbers& x, std::int64_t begin, std::int64_t count) {
  return {x.begin() + begin, x.begin() + begin + count};
}

Numbers of_length_one(Numbers x) {
  double squares = 1e-6;
  for (const double number : x) squares += number * number;
  for (double& number : x) number /= std::sqrt(squares);
  return x;
}

// One text [T, C], as the equations say it.
std::vector<Numbers> plain(const Layer& layer, const std::vector<Numbers>& text) {
  const auto& [H, G, Dk, Dv, K, activation, epsilon] = kRule;
  const std::int64_t channels = kRule.channels();
  std::vector<Numbers> projected;
  std::vector<std::vector<Numbers>> memory(  // of each head, [Dk][Dv]
      static_cast<std::size_t>(H),
      std::vector<Numbers>(static_cast<std::size_t>(Dk), Numbers(static_cast<std::size_t>(Dv))));
  std::vector<Numbers> outputs;
  for (const Numbers& x : text) {
    projected.push_back(times(layer.numbers("in_proj_qkv.weight"), channels, x));
    Numbers mixed(static_cast<std::size_t>(channels));
    for (std::size_t c = 0; c < mixed.size(); ++c) {
      for (std::int64_t back = 0; back < K && back < std::ssize(projected); ++back)
        mixed[c] +=
            layer.numbers("conv1d.weight")[static_cast<std::int64_t>(c) * K + K - 1 - back] *
            projected[projected.size() - 1 - static_cast<std::size_t>(back)][c];
      mixed[c] = silu(mixed[c]);
    }
    const Numbers a = times(layer.numbers("in_proj_a.weight"), H, x);
    const Numbers b = times(layer.numbers("in_proj_b.weight"), H, x);
    const Numbers z = times(layer.numbers("in_proj_z.weight"), H * Dv, x);
    Numbers joined;
    for (std::int64_t head = 0; head < H; ++head) {
      const auto h = static_cast<std::size_t>(head);
      const std::int64_t group = head / (H / G);
      const Numbers q = of_length_one(slice_of(mixed, group * Dk, Dk));
      const Numbers k = of_length_one(slice_of(mixed, (G + group) * Dk, Dk));
      const Numbers v = slice_of(mixed, 2 * G * Dk + head * Dv, Dv);
      const double decay = std::exp(-std::exp(static_cast<double>(layer.numbers("A_log")[head])) *
                                    std::log1p(std::exp(a[h] + layer.numbers("dt_bias")[head])));
      Numbers out;
      double squares = 0;
      for (std::size_t j = 0; j < v.size(); ++j) {
        double held = 0, read = 0;
        for (std::size_t i = 0; i < k.size(); ++i) held += k[i] * (memory[h][i][j] *= decay);
        for (std::size_t i = 0; i < k.size(); ++i) {
          memory[h][i][j] += k[i] * sigmoid(b[h]) * (v[j] - held);
          read += q[i] * memory[h][i][j] / std::sqrt(static_cast<double>(Dk));
        }
        out.push_back(read);
        squares += read * read;
      }
      for (std::size_t j = 0; j < v.size(); ++j)
        joined.push_back(layer.numbers("norm.weight")[j] * out[j] /
                         std::sqrt(squares / static_cast<double>(Dv) + epsilon) *
                         silu(z[h * static_cast<std::size_t>(Dv) + j]));
    }
    outputs.push_back(times(layer.numbers("out_proj.weight"), kWidth, joined));
  }
  return outputs;
}

std::vector<Numbers> text_of(const Tensor& x, std::int64_t row, std::int64_t count) {
  std::vector<Numbers> text;
  for (std::int64_t t = 0; t < count; ++t) {
    const float* const from = x.data<float>() + (row * x.dim(1) + t) * x.dim(2);
    text.emplace_back(from, from + x.dim(2));
  }
  return text;
}

double difference(const std::vector<Numbers>& due, const ConstView& got) {
  double largest = 0;
  const Tensor rows = Tensor::copy_of(got);
  const float* number = rows.data<float>();
  for (const Numbers& row : due)
    for (const double expected : row) largest = std::max(largest, std::abs(expected - *number++));
  return largest;
}

TEST(DeltaRule, ComputesItsEquations) {
  const Layer layer;
  const Tensor x = test::random_tensor({2, 9, kWidth}, 3);
  heed::Run run;
  const Tensor y = layer.rule.forward(x, run);
  for (std::int64_t row = 0; row < 2; ++row)
    EXPECT_LE(difference(plain(layer, text_of(x, row, 9)), y.view().select(0, row)), 1e-5) << row;
}

TEST(DeltaRule, GoesOnFromTheCacheWhateverThePieces) {
  const Layer layer;
  const Tensor x = test::random_tensor({2, 9, kWidth}, 3);
  KvCache cache({.layers = 1, .batch = 2, .capacity = 9, .recurrent = {0}});
  Counts begin = {0, 0};
  for (const Counts& counts : {Counts{1, 4}, Counts{3, 0}, Counts{1, 1}, Counts{4, 4}}) {
    const std::int64_t most = std::max(counts[0], counts[1]);
    Tensor piece = test::random_tensor({2, most, kWidth}, 4);  // beyond a row's count: noise
    for (std::int64_t row = 0; row < 2; ++row) {
      const auto b = static_cast<std::size_t>(row);
      std::copy_n(x.data<float>() + (row * 9 + begin[b]) * kWidth, counts[b] * kWidth,
                  piece.data<float>() + row * most * kWidth);
    }
    heed::Run run;
    run.cache = &cache;
    run.extents.query_length = counts;
    const Tensor y = layer.rule.forward(piece, run);
    for (std::int64_t row = 0; row < 2; ++row) {
      const auto b = static_cast<std::size_t>(row);
      std::vector<Numbers> due = plain(layer, text_of(x, row, begin[b] + counts[b]));
      due.erase(due.begin(), due.begin() + begin[b]);
      EXPECT_LE(difference(due, y.view().select(0, row)), 1e-5) << row << " from " << begin[b];
      begin[b] += counts[b];
    }
    cache.advance(counts);
  }
}

TEST(DeltaRule, APassThatDoesNotAdvanceLeavesTheCacheAsItWas) {
  const Layer layer;
  const Tensor x = test::random_tensor({1, 2, kWidth}, 3),
               other = test::random_tensor({1, 2, kWidth}, 5);
  KvCache cache({.layers = 1, .batch = 1, .capacity = 9, .recurrent = {0}});
  heed::Run run;
  run.cache = &cache;
  layer.rule.forward(x, run);
  cache.advance(Counts{2});
  const Tensor due = layer.rule.forward(x, run);
  layer.rule.forward(other, run);
  EXPECT_TRUE(test::same_bits(layer.rule.forward(x, run), due));
}

}  // namespace
}  // namespace heed
