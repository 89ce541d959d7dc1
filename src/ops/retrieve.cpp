// The modern Hopfield network: attention iterated with K = V = the patterns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "tensor/operand.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const RetrieveArgs& args) {
  const ConstView& x = args.patterns;
  if (!x.given() || x.rank() != 2 || x.dim(0) < 1 || x.dim(1) < 1)
    fail("retrieve", "patterns", to_string(x), "[P, D] of at least one element");
  if (!args.state.given() || args.state.rank() != 2 || args.state.dim(1) != x.dim(1))
    fail("retrieve", "state", to_string(args.state), fmt::format("[S, {}]", x.dim(1)));
  if (args.state.dtype() != x.dtype())
    fail("retrieve", "state", name(args.state.dtype()),
         fmt::format("{} (patterns' type)", name(x.dtype())));
  if (!(std::isfinite(args.beta) && args.beta > 0)) fail("retrieve", "beta", args.beta, "above 0");
  if (args.steps < 0) fail("retrieve", "steps", args.steps, "0 or more");
  if (!(args.tolerance >= 0)) fail("retrieve", "tolerance", args.tolerance, "0 or more");
}

// The squared lengths of the rows.
std::vector<double> squares(const ConstView& rows) {
  const Tensor values = Tensor::converted(rows, DType::kF64);
  std::vector<double> sums(static_cast<std::size_t>(rows.dim(0)));
  for (std::int64_t i = 0; i < values.element_count(); ++i) {
    const double value = values.data<double>()[i];
    sums[static_cast<std::size_t>(i / rows.dim(1))] += value * value;
  }
  return sums;
}

class Retrieval {
 public:
  explicit Retrieval(const RetrieveArgs& args) : args_(args), state_(Tensor::copy_of(args.state)) {
    const std::vector<double> lengths = squares(args.patterns);
    constant_ = std::log(static_cast<double>(args.patterns.dim(0))) / args.beta +
                *std::ranges::max_element(lengths) / 2;
  }

  Retrieved run() {
    Retrieved result;
    Attended next = step();
    while (result.steps_taken < args_.steps && !result.settled) {
      ++result.steps_taken;
      result.settled = move_to(next.out);
      next = step();
    }
    result.state = std::move(state_);
    const std::int64_t rows = args_.state.dim(0);
    result.energies = Tensor::empty({result.steps_taken + 1, rows}, DType::kF64);
    std::ranges::copy(energies_, result.energies.data<double>());
    return result;
  }

 private:
  // One step of attention of the states over the patterns; also records the energy before it.
  Attended step() {
    AttentionArgs args;
    args.q = as_head(state_);
    args.keys = {.k = as_head(args_.patterns), .v = as_head(args_.patterns)};
    args.scores.scale.push_back(args_.beta);
    args.kernel = args_.kernel;
    Attended attended = attention(args);
    const std::vector<double> lengths = squares(state_);
    const Tensor lse = Tensor::converted(attended.lse, DType::kF64);
    const Tensor lse_low = Tensor::converted(attended.lse_low, DType::kF64);
    for (std::size_t row = 0; row < lengths.size(); ++row)
      energies_.push_back(constant_ + lengths[row] / 2 -
                          (lse.data<double>()[row] + lse_low.data<double>()[row]) / args_.beta);
    return attended;
  }

  // Whether no state moved by more than the tolerance.
  bool move_to(const Tensor& out) {
    const std::int64_t width = state_.dim(1);
    const Tensor before = Tensor::converted(state_, DType::kF64);
    const Tensor after = Tensor::converted(out, DType::kF64);
    bool settled = true;
    for (std::int64_t row = 0; row < state_.dim(0); ++row) {
      double distance = 0;
      for (std::int64_t c = row * width; c < (row + 1) * width; ++c)
        distance += std::pow(after.data<double>()[c] - before.data<double>()[c], 2);
      if (!(std::sqrt(distance) <= args_.tolerance)) settled = false;
    }
    state_ = Tensor::copy_of(out).reshaped(state_.shape());
    return settled;
  }

  const RetrieveArgs& args_;
  Tensor state_;
  std::vector<double> energies_;
  double constant_ = 0;
};

}  // namespace

Retrieved retrieve(const RetrieveArgs& args) {
  check(args);
  return Retrieval(args).run();
}

}  // namespace heed
