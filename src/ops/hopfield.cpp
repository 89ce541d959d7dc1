// The classical network; the modern one is retrieve.cpp.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/philox.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "tensor/text.h"

namespace heed {
namespace {

Tensor as_double(const char* what, const ConstView& view, int rank) {
  if (!view.given() || !is_floating(view.dtype()) || view.rank() != rank)
    fail("hopfield", what, to_string(view), fmt::format("{} axes of a floating type", rank));
  return Tensor::converted(view, DType::kF64);
}

void check_signs(const char* what, const Tensor& values) {
  for (std::int64_t i = 0; i < values.element_count(); ++i)
    if (values.data<double>()[i] != 1 && values.data<double>()[i] != -1)
      fail("hopfield", fmt::format("{}[{}]", what, i), values.data<double>()[i], "+1 or -1");
}

void check_couplings(const Tensor& couplings, std::int64_t units) {
  if (couplings.shape() != Shape({units, units}))
    fail("hopfield", "couplings.shape", to_string(couplings.shape()),
         fmt::format("[{}, {}]", units, units));
  const auto* w = couplings.data<double>();
  for (std::int64_t i = 0; i < units; ++i) {
    if (w[i * units + i] != 0)
      fail("hopfield", fmt::format("couplings[{}, {}]", i, i), w[i * units + i],
           "0 on the diagonal");
    for (std::int64_t j = 0; j < i; ++j)
      if (w[i * units + j] != w[j * units + i])
        fail("hopfield", fmt::format("couplings[{}, {}]", i, j), w[i * units + j],
             fmt::format("{} (couplings[{}, {}]: they are symmetric)", w[j * units + i], j, i));
  }
}

double field(const double* couplings, const double* state, std::int64_t units) {
  return std::inner_product(state, state + units, couplings, 0.0);
}

double energy(const double* couplings, const double* state, std::int64_t units) {
  double sum = 0;
  for (std::int64_t i = 0; i < units; ++i)
    sum += state[i] * field(couplings + i * units, state, units);
  return -sum / 2;
}

// Units in a random order (Fisher-Yates).
std::vector<std::int64_t> shuffled(std::int64_t units, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(units));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

bool sweep(const double* couplings, std::int64_t units, Random& random, double* state) {
  bool changed = false;
  for (const std::int64_t unit : shuffled(units, random)) {
    const double pull = field(couplings + unit * units, state, units);
    if (pull == 0 || (pull > 0) == (state[unit] > 0)) continue;
    state[unit] = -state[unit];
    changed = true;
  }
  return changed;
}

}  // namespace

Tensor hebbian_couplings(const ConstView& patterns) {
  const Tensor x = as_double("patterns", patterns, 2);
  check_signs("patterns", x);
  const std::int64_t units = x.dim(1);
  Tensor couplings = Tensor::zeros({units, units}, DType::kF64);
  for (std::int64_t i = 0; i < units; ++i) {
    for (std::int64_t j = 0; j < units; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; i != j && p < x.dim(0); ++p)
        sum += x.data<double>()[p * units + i] * x.data<double>()[p * units + j];
      couplings.data<double>()[i * units + j] = sum / static_cast<double>(units);
    }
  }
  return Tensor::converted(couplings, patterns.dtype());
}

std::vector<double> hopfield_energies(const ConstView& couplings, const ConstView& states) {
  const Tensor w = as_double("couplings", couplings, 2);
  const Tensor s = as_double("states", states, states.rank());
  if (s.rank() < 1 || w.shape() != Shape({s.dim(-1), s.dim(-1)}))
    fail("hopfield", "couplings.shape", to_string(w.shape()),
         s.rank() == 0 ? std::string("that of states") : to_string(Shape{s.dim(-1), s.dim(-1)}));
  const std::int64_t units = s.dim(-1);
  std::vector<double> energies;
  for (std::int64_t row = 0; units > 0 && row < s.element_count() / units; ++row)
    energies.push_back(energy(w.data<double>(), s.data<double>() + row * units, units));
  return energies;
}

HopfieldRecall hopfield_recall(const ConstView& couplings, const ConstView& state,
                               std::int64_t sweeps, std::uint64_t seed) {
  const Tensor w = as_double("couplings", couplings, 2);
  Tensor s = as_double("state", state, 1);
  const std::int64_t units = s.dim(0);
  check_couplings(w, units);
  check_signs("state", s);
  Random random(seed);
  HopfieldRecall recall;
  recall.energies.push_back(energy(w.data<double>(), s.data<double>(), units));
  for (std::int64_t n = 0; n < sweeps && !recall.settled; ++n) {
    recall.settled = !sweep(w.data<double>(), units, random, s.data<double>());
    recall.energies.push_back(energy(w.data<double>(), s.data<double>(), units));
  }
  recall.state = Tensor::converted(s, state.dtype());
  return recall;
}

}  // namespace heed
