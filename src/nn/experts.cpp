#include "nn/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "tensor/computable.h"

namespace heed {
namespace {

// Taps see only the whole layer: an expert's rows are those of a few tokens.
Run without_taps(const Run& run) {
  Run quiet = run;
  quiet.tap = nullptr;
  return quiet;
}

Tensor as_rows(const Tensor& x) {
  return x.share().reshaped({x.element_count() / x.dim(-1), x.dim(-1)});
}

// Multiplies row n of x (as [N, C]) by factors[n].
void scale_rows(Tensor& x, std::span<const double> factors) {
  const std::int64_t width = x.dim(-1);
  in_computing_type(x.dtype(), [&](auto zero) {
    auto* row = x.data<decltype(zero)>();
    for (const double factor : factors)
      for (std::int64_t c = 0; c < width; ++c) *row++ *= static_cast<decltype(zero)>(factor);
  });
}

// The dot product of row n of a and row n of b, for all n.
std::vector<double> row_products(const Tensor& a, const Tensor& b) {
  const Tensor left = Tensor::converted(a, DType::kF64), right = Tensor::converted(b, DType::kF64);
  const std::int64_t width = a.dim(-1);
  std::vector<double> products;
  for (std::int64_t at = 0; at < a.element_count(); at += width)
    products.push_back(std::inner_product(left.data<double>() + at,
                                          left.data<double>() + at + width,
                                          right.data<double>() + at, 0.0));
  return products;
}

std::vector<double> sigmoids(const Tensor& x) {
  const Tensor wide = Tensor::converted(x, DType::kF64);
  std::vector<double> shares;
  for (std::int64_t i = 0; i < x.element_count(); ++i)
    shares.push_back(1 / (1 + std::exp(-wide.data<double>()[i])));
  return shares;
}

// The softmax of one token's logits, a row of [N, E] in f64.
std::vector<double> softmax_of(const Tensor& logits, std::int64_t token) {
  const double* row = logits.data<double>() + token * logits.dim(1);
  std::vector<double> shares(row, row + logits.dim(1));
  const double largest = *std::ranges::max_element(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

Tensor ids_of(const auto& picks) {
  Tensor ids = Tensor::empty({1, std::ssize(picks)}, DType::kI32);
  std::ranges::transform(picks, ids.data<std::int32_t>(),
                         [](const auto& pick) { return pick.token; });
  return ids;
}

std::vector<double> weights_of(const auto& picks) {
  std::vector<double> weights;
  for (const auto& pick : picks) weights.push_back(pick.weight);
  return weights;
}

}  // namespace

Experts::Picks Experts::route(const Tensor& logits) const {
  const Tensor wide = Tensor::converted(logits, DType::kF64);
  Picks picks(parts_.experts.size());
  std::vector<std::size_t> order(picks.size());
  for (std::int64_t token = 0; token < logits.dim(0); ++token) {
    const std::vector<double> shares = softmax_of(wide, token);
    std::iota(order.begin(), order.end(), 0U);
    const auto end = order.begin() + parts_.chosen;
    std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
      return shares[a] > shares[b] || (shares[a] == shares[b] && a < b);
    });
    double sum = 0;
    for (auto expert = order.begin(); expert != end; ++expert) sum += shares[*expert];
    for (auto expert = order.begin(); expert != end; ++expert)
      picks[*expert].push_back({.token = static_cast<std::int32_t>(token),
                                .weight = shares[*expert] / (parts_.sums_to_one ? sum : 1)});
  }
  return picks;
}

Tensor Experts::forward(const Tensor& x, Run& run) const {
  Run quiet = without_taps(run);
  Tensor logits = as_rows(parts_.router.forward(x, run));  // [N, E]
  const Picks picks = route(logits);
  const Tensor rows = as_rows(x);
  Tensor y = Tensor::zeros(rows.shape(), x.dtype());
  for (std::size_t expert = 0; expert < picks.size(); ++expert) {
    if (picks[expert].empty()) continue;
    const Tensor ids = ids_of(picks[expert]);
    Tensor out = parts_.experts[expert].forward(embedding(rows, ids), quiet);  // [1, n, C]
    if (run.saved != nullptr) run.saved->put(out.clone());
    scale_rows(out, weights_of(picks[expert]));
    embedding_backward(ids, out, y);
  }
  if (parts_.shared) add_shared(*parts_.shared, x, y, run);
  if (run.saved != nullptr) run.saved->put(std::move(logits));
  return std::move(y).reshaped(x.shape());
}

void Experts::add_shared(const Mlp& shared, const Tensor& x, Tensor& y, Run& run) const {
  Run quiet = without_taps(run);
  Tensor out = as_rows(shared.forward(x, quiet));
  if (parts_.shared_gate) {
    Tensor gate = parts_.shared_gate->forward(x, run);
    if (run.saved != nullptr) run.saved->put(out.clone());
    scale_rows(out, sigmoids(gate));
    if (run.saved != nullptr) run.saved->put(std::move(gate));
  }
  add_to(y, out);
}

Tensor Experts::shared_backward(const Mlp& shared, const Tensor& dy, Run& run,
                                Gradients& gradients) const {
  if (!parts_.shared_gate) return shared.backward(dy, run, gradients);
  const Tensor gate = run.saved->take();
  const Tensor out = run.saved->take();
  const std::vector<double> shares = sigmoids(gate);
  std::vector<double> slopes = row_products(dy, out);
  for (std::size_t row = 0; row < slopes.size(); ++row)
    slopes[row] *= shares[row] * (1 - shares[row]);
  Tensor dgate = Tensor::zeros(gate.shape(), gate.dtype());
  in_computing_type(dgate.dtype(),
                    [&](auto zero) { std::ranges::copy(slopes, dgate.data<decltype(zero)>()); });
  Tensor dx = parts_.shared_gate->backward(dgate, run, gradients);
  Tensor dout = dy.clone();
  scale_rows(dout, shares);
  return add(std::move(dx), shared.backward(dout, run, gradients));
}

// Returns the gradient of the logits [N, E]. With S the chosen experts and w = p / (sum over S of
// p): dlogit_e = w_e (dw_e - sum over S of w dw), e in S. Without division by the sum: dlogit_e =
// p_e (dp_e - sum over S of p dp), every e, with dp_e = 0 outside of S.
Tensor Experts::router_gradient(const Tensor& logits, const Picks& picks,
                                const std::vector<std::vector<double>>& dweights) const {
  const std::int64_t N = logits.dim(0), E = logits.dim(1);
  std::vector<double> mean(static_cast<std::size_t>(N));
  std::vector<double> own(static_cast<std::size_t>(N * E));
  for (std::size_t expert = 0; expert < picks.size(); ++expert)
    for (std::size_t i = 0; i < picks[expert].size(); ++i) {
      const auto& [token, weight] = picks[expert][i];
      own[static_cast<std::size_t>(token * E) + expert] = dweights[expert][i];
      mean[static_cast<std::size_t>(token)] += weight * dweights[expert][i];
    }
  std::vector<double> shares(own.size());
  if (parts_.sums_to_one) {
    for (std::size_t expert = 0; expert < picks.size(); ++expert)
      for (const auto& [token, weight] : picks[expert])
        shares[static_cast<std::size_t>(token * E) + expert] = weight;
  } else {
    const Tensor wide = Tensor::converted(logits, DType::kF64);
    for (std::int64_t token = 0; token < N; ++token)
      std::ranges::copy(softmax_of(wide, token), shares.begin() + token * E);
  }
  Tensor dlogits = Tensor::zeros(logits.shape(), logits.dtype());
  in_computing_type(dlogits.dtype(), [&](auto zero) {
    auto* into = dlogits.data<decltype(zero)>();
    for (std::size_t i = 0; i < own.size(); ++i)
      into[i] =
          static_cast<decltype(zero)>(shares[i] * (own[i] - mean[i / static_cast<std::size_t>(E)]));
  });
  return dlogits;
}

Tensor Experts::backward(const Tensor& dy, Run& run, Gradients& gradients) const {
  const Tensor logits = run.saved->take();
  const Picks picks = route(logits);
  Tensor dx = parts_.shared ? shared_backward(*parts_.shared, dy, run, gradients)
                            : Tensor::zeros(dy.shape(), dy.dtype());
  Tensor drows = as_rows(dx);
  const Tensor dy_rows = as_rows(dy);
  std::vector<std::vector<double>> dweights(picks.size());
  for (std::size_t expert = picks.size(); expert-- > 0;) {
    if (picks[expert].empty()) continue;
    const Tensor ids = ids_of(picks[expert]);
    const Tensor out = run.saved->take();
    Tensor dout = embedding(dy_rows, ids);
    dweights[expert] = row_products(dout, out);
    scale_rows(dout, weights_of(picks[expert]));
    embedding_backward(ids, parts_.experts[expert].backward(dout, run, gradients), drows);
  }
  Tensor dlogits = router_gradient(logits, picks, dweights);
  Shape shape = dy.shape();
  shape[shape.rank() - 1] = logits.dim(1);
  return add(std::move(dx),
             parts_.router.backward(std::move(dlogits).reshaped(shape), run, gradients));
}

void Experts::collect(std::vector<Parameter*>& into) {
  parts_.router.collect(into);
  for (Mlp& expert : parts_.experts) expert.collect(into);
  if (parts_.shared) parts_.shared->collect(into);
  if (parts_.shared_gate) parts_.shared_gate->collect(into);
}

}  // namespace heed
