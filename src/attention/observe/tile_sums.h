// The observers' work on a tile of weights: [keys][64], one row per lane, as in ObservedTile.
#pragma once

#include <cstdint>

namespace heed::kernels {

/// sums[i] -= sum_j p_ij ln p_ij, for 64 rows; 0 ln 0 is 0.
void add_entropies(const float* weights, const float* log_weights, std::int64_t keys, double* sums);
/// sums[i] += sum_j p_ij |first - j + i|.
void add_distances(const float* weights, std::int64_t keys, std::int64_t first, double* sums);
/// sums[i] += sum_j p_ij.
void add_keys(const float* weights, std::int64_t keys, double* sums);
/// sums[j] = sum_i p_ij, over 64 rows.
void sum_rows(const float* weights, std::int64_t keys, double* sums);
/// largest[i] = max(largest[i], max_j p_ij); NaN stays NaN.
void raise_to_keys(const float* weights, std::int64_t keys, float* largest);
/// Bit i of found[j] is set unless p_ij <= least[i]; so it is set if either is NaN.
void find_above(const float* weights, std::int64_t keys, const float* least, std::uint64_t* found);
/// scaled_ij = p_ij norms[j] where visible, else 0, whatever the norm.
void scale_keys(const float* weights, const std::uint64_t* visible, const float* norms,
                std::int64_t keys, float* scaled);

}  // namespace heed::kernels
