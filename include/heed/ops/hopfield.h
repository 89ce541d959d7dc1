// Hopfield networks: memories that a state falls into. The classical one is a spin glass; one step
// of the modern one is attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// Couplings W_ij = (1 / N) sum over patterns of x_i x_j, W_ii = 0 (Hopfield 1982, Hebb's rule), of
/// patterns [P, N] of +1 and -1. f64 or f32; [N, N].
Tensor hebbian_couplings(const ConstView& patterns);

/// E = -1/2 s^T W s for every state [..., N]: the Hamiltonian of an Ising model whose couplings
/// J_ij are W_ij, -sum over pairs i < j of J_ij s_i s_j.
std::vector<double> hopfield_energies(const ConstView& couplings, const ConstView& states);

struct HopfieldRecall {
  Tensor state;                  // [N] of +1 and -1
  std::vector<double> energies;  // before the first sweep and after each; never rises
  bool settled = false;          // the last sweep changed nothing
};

/// Units one by one take the sign of their field sum_j W_ij s_j (0 keeps them), in a new random
/// order each sweep, drawn by Philox from the seed; ends when a sweep changes nothing. W must be
/// symmetric with a diagonal of 0, which is what keeps the energy from rising.
HopfieldRecall hopfield_recall(const ConstView& couplings, const ConstView& state,
                               std::int64_t sweeps = 100, std::uint64_t seed = 0);

/// The modern network (Ramsauer et al. 2021): state <- softmax(beta state X^T) X, their equation 3,
/// which is attention with K = V = X and scale beta, for every state at once.
struct RetrieveArgs {
  ConstView patterns = {};  // X [P, D], P at least 1
  ConstView state = {};     // [S, D], of X's type: f64, or f32
  double beta = 1;          // above 0: the inverse temperature
  std::int64_t steps = 1;   // at most
  double tolerance = 0;     // ends when no state moved by more than this (Euclidean)
  std::string kernel = {};  // of attention
};

struct Retrieved {
  Tensor state;     // [S, D]
  Tensor energies;  // [steps taken + 1, S], f64
  std::int64_t steps_taken = 0;
  bool settled = false;
};

/// Every step is heed::attention; the energy (their equation 2),
/// E = -lse(beta X s) / beta + |s|^2 / 2 + log(P) / beta + max_p |x_p|^2 / 2, never rises (their
/// theorem 1), is at least 0, and comes from the log-sum-exp that the step gives anyway.
Retrieved retrieve(const RetrieveArgs& args);

}  // namespace heed
