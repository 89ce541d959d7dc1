#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/attention.h"
#include "heed/operators.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::largest_difference;
using test::random_tensor;

Tensor random_signs(const Shape& shape, std::uint64_t seed) {
  Tensor x = random_tensor(shape, seed, DType::kF64);
  for (std::int64_t i = 0; i < x.element_count(); ++i)
    x.data<double>()[i] = x.data<double>()[i] < 0 ? -1 : 1;
  return x;
}

TEST(Hopfield, CouplingsOfOnePatternByHand) {
  Tensor pattern = Tensor::empty({1, 2}, DType::kF64);
  pattern.data<double>()[0] = 1;
  pattern.data<double>()[1] = -1;
  const Tensor couplings = hebbian_couplings(pattern);
  EXPECT_EQ(couplings.data<double>()[0], 0);
  EXPECT_EQ(couplings.data<double>()[1], -0.5);
  EXPECT_EQ(couplings.data<double>()[2], -0.5);
}

TEST(Hopfield, TheEnergyIsTheIsingHamiltonianOfTheCouplings) {
  const Tensor patterns = random_signs({3, 12}, 1);
  const Tensor states = random_signs({5, 12}, 2);
  const Tensor couplings = hebbian_couplings(patterns);
  const std::vector<double> energies = hopfield_energies(couplings, states);
  for (int row = 0; row < 5; ++row) {
    const double* s = states.data<double>() + row * 12;
    double hamiltonian = 0;
    for (int i = 0; i < 12; ++i) {
      for (int j = i + 1; j < 12; ++j) {
        double coupling = 0;  // J_ij from the patterns themselves
        for (int p = 0; p < 3; ++p)
          coupling +=
              patterns.data<double>()[p * 12 + i] * patterns.data<double>()[p * 12 + j] / 12;
        hamiltonian -= coupling * s[i] * s[j];
      }
    }
    EXPECT_NEAR(energies[static_cast<std::size_t>(row)], hamiltonian, 1e-12);
  }
}

TEST(Hopfield, RecallsAStoredPatternFromADamagedOne) {
  const Tensor patterns = random_signs({4, 100}, 3);
  const Tensor couplings = hebbian_couplings(patterns);
  Tensor damaged = Tensor::copy_of(patterns.view().select(0, 2));
  for (int i = 0; i < 15; ++i) damaged.data<double>()[i * 6] *= -1;
  const HopfieldRecall recall = hopfield_recall(couplings, damaged);
  EXPECT_TRUE(recall.settled);
  EXPECT_TRUE(test::same_bits(recall.state, patterns.view().select(0, 2)));
}

TEST(Hopfield, TheEnergyNeverRises) {
  const Tensor patterns = random_signs({20, 60}, 4);  // far beyond its capacity
  const Tensor couplings = hebbian_couplings(patterns);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const HopfieldRecall recall =
        hopfield_recall(couplings, random_signs({60}, 50 + seed), 100, seed);
    EXPECT_TRUE(recall.settled);
    for (std::size_t n = 1; n < recall.energies.size(); ++n)
      EXPECT_LE(recall.energies[n], recall.energies[n - 1] + 1e-12);
  }
}

TEST(Hopfield, SaysWhatDoesNotFit) {
  Tensor couplings = Tensor::zeros({2, 2}, DType::kF64);
  const Tensor state = random_signs({2}, 5);
  couplings.data<double>()[1] = 1;
  EXPECT_HEED_ERROR(
      hopfield_recall(couplings, state), ErrorCode::kInvalidArgument,
      "hopfield: couplings[1, 0] is 0, expected 1 (couplings[0, 1]: they are symmetric)");
  couplings.data<double>()[1] = 0;
  couplings.data<double>()[3] = 2;
  EXPECT_HEED_ERROR(hopfield_recall(couplings, state), ErrorCode::kInvalidArgument,
                    "hopfield: couplings[1, 1] is 2, expected 0 on the diagonal");
  EXPECT_HEED_ERROR(hebbian_couplings(Tensor::zeros({1, 2})), ErrorCode::kInvalidArgument,
                    "hopfield: patterns[0] is 0, expected +1 or -1");
}

TEST(Retrieve, OneStepIsAttention) {
  const Tensor patterns = random_tensor({9, 6}, 6);
  const Tensor state = random_tensor({4, 6}, 7);
  AttentionArgs args = {.q = state.view().reshape({1, 1, 4, 6}),
                        .keys = {.k = patterns.view().reshape({1, 1, 9, 6}),
                                 .v = patterns.view().reshape({1, 1, 9, 6})}};
  args.scores.scale = {2.5};
  const Retrieved step = retrieve({.patterns = patterns, .state = state, .beta = 2.5});
  EXPECT_EQ(step.steps_taken, 1);
  EXPECT_TRUE(test::same_bits(step.state, attention(args).out.view().reshape({4, 6})));
}

// softmax(beta s X^T) X in plain loops.
Tensor plain_step(const Tensor& patterns, const Tensor& state, double beta) {
  Tensor next = Tensor::zeros(state.shape(), DType::kF64);
  const std::int64_t width = state.dim(1);
  for (std::int64_t row = 0; row < state.dim(0); ++row) {
    double sum = 0;
    for (std::int64_t p = 0; p < patterns.dim(0); ++p) {
      double dot = 0;
      for (std::int64_t c = 0; c < width; ++c)
        dot += state.data<double>()[row * width + c] * patterns.data<double>()[p * width + c];
      const double weight = std::exp(beta * dot);
      sum += weight;
      for (std::int64_t c = 0; c < width; ++c)
        next.data<double>()[row * width + c] += weight * patterns.data<double>()[p * width + c];
    }
    for (std::int64_t c = 0; c < width; ++c) next.data<double>()[row * width + c] /= sum;
  }
  return next;
}

TEST(Retrieve, StepsAgreeWithPlainLoops) {
  const Tensor patterns = random_tensor({7, 5}, 8, DType::kF64);
  const Tensor state = random_tensor({3, 5}, 9, DType::kF64);
  const Retrieved found = retrieve({.patterns = patterns, .state = state, .beta = 0.8, .steps = 3});
  Tensor expected = state.clone();
  for (int n = 0; n < 3; ++n) expected = plain_step(patterns, expected, 0.8);
  EXPECT_LE(largest_difference(found.state, expected), 1e-12);
}

// -lse(beta X s) / beta + |s|^2 / 2 + log(P) / beta + max |x|^2 / 2 in plain loops, of one row.
double plain_energy(const Tensor& patterns, const double* state, double beta) {
  const std::int64_t width = patterns.dim(1);
  double largest = 0;
  double sum = 0;
  double own = 0;
  for (std::int64_t c = 0; c < width; ++c) own += state[c] * state[c];
  for (std::int64_t p = 0; p < patterns.dim(0); ++p) {
    double length = 0;
    double dot = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      const double x = patterns.data<double>()[p * width + c];
      length += x * x;
      dot += x * state[c];
    }
    largest = std::max(largest, length);
    sum += std::exp(beta * dot);
  }
  return (std::log(static_cast<double>(patterns.dim(0))) - std::log(sum)) / beta +
         (own + largest) / 2;
}

TEST(Retrieve, TheEnergyIsThePapersAndNeverRises) {
  const Tensor patterns = random_tensor({12, 8}, 10, DType::kF64);
  const Tensor state = random_tensor({6, 8}, 11, DType::kF64);
  for (const double beta : {0.1, 1.0, 8.0}) {
    const Retrieved found =
        retrieve({.patterns = patterns, .state = state, .beta = beta, .steps = 12});
    ASSERT_EQ(found.energies.shape(), Shape({found.steps_taken + 1, 6}));
    const double* energies = found.energies.data<double>();
    for (int row = 0; row < 6; ++row)
      EXPECT_NEAR(energies[row], plain_energy(patterns, state.data<double>() + row * 8, beta),
                  1e-10);
    ASSERT_GE(found.steps_taken, 3);
    for (std::int64_t i = 6; i < found.energies.element_count(); ++i) {
      EXPECT_LE(energies[i], energies[i - 6] + 1e-12);
      EXPECT_GE(energies[i], 0);
    }
  }
}

TEST(Retrieve, SharpRetrievalFindsThePatternAndSettles) {
  const Tensor patterns = random_tensor({20, 64}, 12);
  Tensor state = Tensor::copy_of(patterns.view().slice(0, 3, 5));
  for (int i = 0; i < 128; i += 3) state.data<float>()[i] = 0;
  const Retrieved found =
      retrieve({.patterns = patterns, .state = state, .beta = 4, .steps = 50, .tolerance = 1e-5});
  EXPECT_TRUE(found.settled);
  EXPECT_LT(found.steps_taken, 6);
  EXPECT_LE(largest_difference(found.state, patterns.view().slice(0, 3, 5)), 1e-4);
}

TEST(Retrieve, NoStepGivesTheStateBackWithItsEnergy) {
  const Tensor patterns = random_tensor({3, 4}, 13);
  const Tensor state = random_tensor({2, 4}, 14);
  const Retrieved found = retrieve({.patterns = patterns, .state = state, .steps = 0});
  EXPECT_TRUE(test::same_bits(found.state, state));
  EXPECT_EQ(found.energies.shape(), Shape({1, 2}));
}

TEST(Retrieve, SaysWhatDoesNotFit) {
  const Tensor patterns = random_tensor({3, 4}, 15);
  const Tensor narrow = random_tensor({2, 3}, 16);
  const Tensor state = random_tensor({2, 4}, 17);
  EXPECT_HEED_ERROR(retrieve({.patterns = patterns, .state = narrow}), ErrorCode::kInvalidArgument,
                    "retrieve: state is f32 [2, 3], expected [S, 4]");
  EXPECT_HEED_ERROR(retrieve({.patterns = patterns, .state = state, .beta = 0}),
                    ErrorCode::kInvalidArgument, "retrieve: beta is 0, expected above 0");
}

}  // namespace
}  // namespace heed
