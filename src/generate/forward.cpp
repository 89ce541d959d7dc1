#include "generate/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generate/rules.h"
#include "heed/error.h"
#include "nn/parameter.h"

namespace heed {
namespace {

// Rows of ids, padded with 0.
struct PaddedRows {
  Tensor ids;  // [rows, longest]
  std::vector<std::int64_t> lengths;
};

PaddedRows padded(const std::vector<std::span<const TokenId>>& rows) {
  PaddedRows padded;
  std::int64_t longest = 0;
  for (const auto& row : rows) {
    padded.lengths.push_back(std::ssize(row));
    longest = std::max<std::int64_t>(longest, std::ssize(row));
  }
  padded.ids = Tensor::zeros({std::ssize(rows), longest}, DType::kI32);
  for (std::size_t r = 0; r < rows.size(); ++r)
    std::ranges::copy(rows[r], padded.ids.data<TokenId>() + static_cast<std::int64_t>(r) * longest);
  return padded;
}

}  // namespace

KvCache cache_of(const Model& model, const GenerateArgs& args, std::int64_t beams) {
  std::size_t longest = 1;
  for (const auto& prompt : args.prompts) longest = std::max(longest, prompt.size());
  // The last token of a text is not fed to the model.
  const std::int64_t capacity =
      static_cast<std::int64_t>(longest) + most_tokens(model.info(), args, longest) - 1;
  return make_cache(model, beams * std::ssize(args.prompts), capacity, args.cache);
}

Tensor next_logits(const Model& model, KvCache& cache,
                   const std::vector<std::span<const TokenId>>& rows,
                   const std::vector<std::vector<TokenId>>& sources) {
  Run run;
  run.cache = &cache;
  run.last_position_only = true;
  // Bits of bf16 products differ in bulk, so either all prompts use it or none.
  run.in_bulk = std::ranges::all_of(cache.lengths(), [](auto n) { return n == 0; }) &&
                packed_type(model.parameters()) == DType::kBF16;
  std::vector<std::span<const TokenId>> missing;
  for (std::size_t r = 0; r < rows.size(); ++r)
    missing.push_back(rows[r].subspan(static_cast<std::size_t>(cache.lengths()[r])));
  const PaddedRows text = padded(missing);
  run.extents.query_length = text.lengths;
  Batch batch = {.ids = text.ids};
  PaddedRows source;
  if (!sources.empty() && cache.source(0) == nullptr) {
    source = padded({sources.begin(), sources.end()});
    batch.source = source.ids;
    batch.source_lengths = source.lengths;
  }
  return model.forward(batch, run);
}

Tensor cropped_logits(const Model& model, const std::vector<std::span<const TokenId>>& rows,
                      const std::vector<std::vector<TokenId>>& sources) {
  const auto most = static_cast<std::size_t>(model.info().positions);
  std::vector<std::span<const TokenId>> windows;
  for (const auto& row : rows) windows.push_back(row.last(std::min(most, row.size())));
  const PaddedRows text = padded(windows);
  Run run;
  run.last_position_only = true;
  run.extents = {.query_length = text.lengths, .key_length = text.lengths};
  Batch batch = {.ids = text.ids};
  PaddedRows source;
  if (!sources.empty()) {
    source = padded({sources.begin(), sources.end()});
    batch.source = source.ids;
    batch.source_lengths = source.lengths;
  }
  return model.forward(batch, run);
}

std::span<const float> row_of(const Tensor& logits, std::size_t r) {
  const std::int64_t vocabulary = logits.dim(2);
  return {logits.data<float>() + static_cast<std::int64_t>(r) * vocabulary,
          static_cast<std::size_t>(vocabulary)};
}

void check_logits(std::span<const float> logits) {
  const auto wrong = [](float logit) { return std::isnan(logit) || logit == HUGE_VALF; };
  if (const auto bad = std::ranges::find_if(logits, wrong); bad != logits.end())
    fail({.code = ErrorCode::kCorrupt,
          .op = "generate",
          .argument = fmt::format("logits[{}]", bad - logits.begin()),
          .found = static_cast<double>(*bad),
          .expected = "a number",
          .hint = "weights of the model are not finite, or too large (heed look shows where)"});
  if (std::isinf(*std::ranges::max_element(logits)))
    fail({.code = ErrorCode::kInvalidArgument,
          .op = "generate",
          .argument = "logits",
          .found = "-inf for every token",
          .expected = "a number for at least one",
          .hint = "are all of them suppressed, or bad words?"});
}

Distribution distribution_of(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  double weighted = 0;  // sum of e^x x over x = logit - largest
  for (const float logit : logits) {
    const double x = logit - largest;
    const double weight = std::exp(x);
    if (weight == 0) continue;
    sum += weight;
    weighted += weight * x;
  }
  return {.log_sum = largest + std::log(sum), .entropy = std::log(sum) - weighted / sum};
}

GeneratedToken token_of(TokenId id, std::span<const float> logits,
                        const Distribution& distribution) {
  const double logit = logits[static_cast<std::size_t>(id)];
  return {id, std::exp(logit - distribution.log_sum), distribution.entropy};
}

}  // namespace heed
