#include "kernels/attention.h"

#include <string_view>

namespace heed::kernels {
namespace {

struct FeatureName {
  Feature feature;
  std::string_view name;
};

constexpr FeatureName kNames[] = {
    {kHasSimilarity, "similarity but dot"},
    {kHasSoftcap, "softcap"},
    {kHasBias, "bias"},
    {kHasAlibi, "ALiBi"},
    {kHasSink, "sink"},
    {kHasNormaliser, "normaliser but softmax"},
    {kHasDropout, "dropout"},
    {kHasTypes, "16-bit or mixed types"},
    {kHasPacking, "packed sequences"},
    {kHasScaleGradient, "gradient of the scale"},
    {kHasPages, "paged keys"},
    {kHasRing, "ring of keys"},
    {kHasInt8, "i8 keys"},
};

}  // namespace

std::uint32_t features(const AttentionProblem& problem) {
  const ScoreRule& score = problem.score;
  std::uint32_t found = 0;
  const auto add = [&found](bool has, Feature feature) { found |= has ? feature : 0U; };
  add(score.similarity != Similarity::kDot, kHasSimilarity);
  add(score.softcap != 0, kHasSoftcap);
  add(score.bias.data != nullptr, kHasBias);
  add(score.slope != nullptr, kHasAlibi);
  add(score.sink != nullptr, kHasSink);
  add(score.normaliser != Normaliser::kSoftmax, kHasNormaliser);
  add(problem.dropout.threshold != 0, kHasDropout);
  add(size_bytes(problem.dtype) == 2 || problem.k.dtype != problem.dtype ||
          problem.v.dtype != problem.dtype,
      kHasTypes);
  add(problem.packed_queries > 0 || problem.packed_keys, kHasPacking);
  add(problem.key_form.pages != nullptr, kHasPages);
  add(problem.key_form.ring_slots > 0, kHasRing);
  add(problem.k.dtype == DType::kI8 || problem.v.dtype == DType::kI8, kHasInt8);
  return found;
}

Output query_rows(const AttentionProblem& problem, std::int64_t columns, void* memory) {
  const bool packed = problem.packed_queries > 0;
  const std::int64_t rows = packed ? problem.packed_queries : problem.query_length;
  return {.data = memory,
          .batch = packed ? 0 : problem.heads * rows * columns,
          .head = rows * columns,
          .row = columns,
          .column = 1,
          .dtype = accumulator(problem)};
}

std::string unknown_features(std::uint32_t wanted, std::uint32_t known) {
  std::string text;
  for (const auto& [feature, name] : kNames)
    if ((wanted & ~known & feature) != 0) {
      text += text.empty() ? "does not support " : ", ";
      text += name;
    }
  return text;
}

}  // namespace heed::kernels
