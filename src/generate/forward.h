// A decoder's passes over texts that grow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

/// A cache for `beams` texts of every prompt, of the length that they may get.
KvCache cache_of(const Model& model, const GenerateArgs& args, std::int64_t beams);

/// Logits [rows, 1, V] behind each row's last token: feeds the tokens that the cache lacks. The
/// first pass reads the sources too, one a row.
Tensor next_logits(const Model& model, KvCache& cache,
                   const std::vector<std::span<const TokenId>>& rows,
                   const std::vector<std::vector<TokenId>>& sources);

/// The same without a cache, of the last tokens of each row: as many as the model has positions.
Tensor cropped_logits(const Model& model, const std::vector<std::span<const TokenId>>& rows,
                      const std::vector<std::vector<TokenId>>& sources);

/// Row r of what these gave.
std::span<const float> row_of(const Tensor& logits, std::size_t r);

}  // namespace heed
