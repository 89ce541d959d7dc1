// Every attention kernel compared with the reference, values and gradients, over the table of
// cases.
#include "bench/attention_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "attention/backends.h"
#include "attention/reference/attention.h"
#include "bench/term_sizes.h"
#include "heed/observe.h"
#include "support/compare.h"

namespace heed {
namespace {

using test::distance;

// Largest |found - expected| relative to the sum of absolute terms: a bound, since each term's
// relative error is at most `tolerance`. A single scale for all heads is their sum.
double distance_in_terms(const std::array<ConstView, 2>& pair, const std::vector<double>& terms) {
  if (!pair[1].given()) return 0;
  const std::vector<double> found = test::values(pair[0]);
  const std::vector<double> expected = test::values(pair[1]);
  const double all = std::accumulate(terms.begin(), terms.end(), 0.0);
  double worst = 0;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    const double size = expected.size() == terms.size() ? terms[n] : all;
    const double error = std::abs(found[n] - expected[n]);
    if (!std::isfinite(error)) return INFINITY;
    if (error > 0) worst = std::max(worst, error / size);
  }
  return worst;
}

// Int8, pages and rings have no dk and dv.
double distance_if_given(const Tensor& found, const Tensor& expected) {
  return expected.given() ? distance(found, expected) : 0;
}

class AttentionCases : public testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionCases, EveryKernelGivesTheReference) {
  const AttentionInputs inputs(GetParam());
  AttentionArgs args = inputs.args;
  args.kernel = "reference";
  const Attended expected = attention(args);
  for (const auto& candidate : forward_candidates()) {
    args.kernel = candidate.name;
    const CheckedAttention checked(args);
    if (!candidate.refusal(checked.problem).empty()) continue;
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
  const test::TermSizes sizes = test::TermSizesOf(inputs).sizes();
  for (const auto& candidate : backward_candidates()) {
    args.kernel = candidate.name;
    const CheckedAttention checked(args);
    if (!candidate.refusal(checked.problem).empty()) continue;
    request.dscale = true;
    const AttentionGrads found = attention_backward(args, attended, inputs.dout, request);
    const double tolerance = 4 * GetParam().tolerance();
    EXPECT_LE(distance(found.dq, expected.dq), tolerance) << candidate.name << " dq";
    EXPECT_LE(distance_if_given(found.dk, expected.dk), tolerance) << candidate.name << " dk";
    EXPECT_LE(distance_if_given(found.dv, expected.dv), tolerance) << candidate.name << " dv";
    const std::pair<const char*, std::array<ConstView, 2>> sums[] = {
        {"dbias", {found.dbias, expected.dbias}},
        {"dsink", {found.dsink, expected.dsink}},
        {"dslope", {found.dslope, expected.dslope}},
        {"dscale", {found.dscale, request.dscale ? expected.dscale : ConstView()}}};
    const std::vector<double>* terms[] = {&sizes.bias, &sizes.sink, &sizes.slope, &sizes.scale};
    for (std::size_t n = 0; n < std::size(sums); ++n)
      EXPECT_LE(distance_in_terms(sums[n].second, *terms[n]), GetParam().tolerance())
          << candidate.name << ' ' << sums[n].first;
  }
}

// [B, H, Tq, Tk] by the formula, before dropout.
Tensor weights_of(const kernels::AttentionProblem& problem) {
  Tensor weights = Tensor::zeros(
      {problem.batch, problem.heads, problem.query_length, problem.key_length}, DType::kF64);
  double* to = weights.data<double>();
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t h = 0; h < problem.heads; ++h)
      for (std::int64_t i = 0; i < problem.query_length; ++i, to += problem.key_length) {
        const kernels::reference::Head head = {problem, b, h};
        kernels::reference::Row row;
        row.look(head, i);
        row.normalise(head);
        for (std::size_t n = 0; n < row.keys.size(); ++n) to[row.keys[n]] = row.weights[n];
      }
  return weights;
}

// After the reference, and after the kernel that runs the case.
TEST_P(AttentionCases, ObserversSeeTheReferencesWeights) {
  const AttentionInputs inputs(GetParam());
  const CheckedAttention checked(inputs.args);
  const Tensor weights = weights_of(checked.problem);
  const double of_f32 = 0x1p-23;  // what answers are in
  for (const auto& [kernel, tolerance] :
       {std::pair("", std::max(of_f32, GetParam().tolerance())), {"reference", of_f32}}) {
    AttentionArgs args = inputs.args;
    args.kernel = kernel;
    SelectionObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attention(args), observers);
    EXPECT_LE(distance(observer.values, weights), tolerance) << kernel;
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
