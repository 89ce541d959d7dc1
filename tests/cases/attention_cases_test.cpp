// Every attention kernel against the reference, value and gradient, over the table of cases.
#include "heed/cases/attention_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/attention_candidates.h"
#include "ops/attention_problem.h"
#include "support/compare.h"

namespace heed {
namespace {

using test::distance;

class AttentionCases : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionCases, EveryKernelGivesTheReference) {
  const AttentionInputs inputs(GetParam());
  AttentionArgs args = inputs.args;
  args.kernel = "reference";
  const Attended expected = attention(args);
  for (const auto& candidate : forward_candidates()) {
    args.kernel = candidate.name;
    const CheckedAttention checked(args);
    const std::uint32_t features = kernels::features(checked.problem);
    if (!refusal(candidate, checked.problem, features).empty()) continue;
    const Attended found = attention(args);
    const double tolerance = GetParam().tolerance();
    EXPECT_LE(distance(found.out, expected.out), tolerance) << candidate.name << " out";
    EXPECT_LE(distance(found.lse, expected.lse), tolerance) << candidate.name << " lse";
  }
}

TEST_P(AttentionCases, EveryKernelGivesTheReferencesGradient) {
  const AttentionInputs inputs(GetParam());
  AttentionArgs args = inputs.args;
  args.kernel = "reference";
  const Attended attended = attention(args);
  AttentionGradRequest request = inputs.request();
  const AttentionGrads expected = attention_backward(args, attended, inputs.dout, request);
  for (const auto& candidate : backward_candidates()) {
    args.kernel = candidate.name;
    const CheckedAttention checked(args);
    const std::uint32_t features = kernels::features(checked.problem);
    if (!refusal(candidate, checked.problem, features).empty()) continue;
    request.dscale = (candidate.knows & kernels::kHasScaleGradient) != 0;
    const AttentionGrads found = attention_backward(args, attended, inputs.dout, request);
    const double tolerance = 4 * GetParam().tolerance();
    EXPECT_LE(distance(found.dq, expected.dq), tolerance) << candidate.name << " dq";
    EXPECT_LE(distance(found.dk, expected.dk), tolerance) << candidate.name << " dk";
    EXPECT_LE(distance(found.dv, expected.dv), tolerance) << candidate.name << " dv";
    // Sums over up to 10^5 pairs whose terms cancel: the order of adding shows.
    const double of_sums = 32 * tolerance;
    EXPECT_LE(distance(found.dbias, expected.dbias), of_sums) << candidate.name << " dbias";
    EXPECT_LE(distance(found.dsink, expected.dsink), of_sums) << candidate.name << " dsink";
    EXPECT_LE(distance(found.dslope, expected.dslope), of_sums) << candidate.name << " dslope";
    if (request.dscale)
      EXPECT_LE(distance(found.dscale, expected.dscale), of_sums) << candidate.name << " dscale";
  }
}

std::string test_name(const testing::TestParamInfo<AttentionCase>& info) {
  std::string text = fmt::format("{}_{}", info.index, info.param.name);
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(Table, AttentionCases, testing::ValuesIn(attention_cases()), test_name);

}  // namespace

// GoogleTest finds it by this name.
void PrintTo(  // NOLINT(readability-identifier-naming)
    const AttentionCase& problem, std::ostream* out) {
  *out << problem.name;
}

}  // namespace heed
