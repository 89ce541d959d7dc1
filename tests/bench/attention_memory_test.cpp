// How much memory one call of attention takes at its peak.
#include <gtest/gtest.h>

#include "bench/attention_bench.h"
#include "bench/measure.h"
#include "heed/attention.h"

namespace heed {
namespace {

TEST(AttentionMemory, NoFormHoldsTheWholeMatrix) {
  for (const AttentionCase& problem :
       choose_bench_cases({"dropout-n2048-d64", "shared-bias-n2048-d64", "wide-values-n2048-d64",
                           "sigmoid-n2048-d64", "gaussian-n2048-d64"})) {
    const std::int64_t matrix = 4 * problem.heads * problem.query_length * problem.key_length;
    const AttentionInputs inputs(problem);
    const AttentionGradRequest request = {.dbias = inputs.args.scores.bias.given()};
    Attended attended;
    EXPECT_LT(peak_bytes_of([&] { attended = attention(inputs.args); }), matrix / 2)
        << "attention " << problem.name;
    EXPECT_LT(
        peak_bytes_of([&] { attention_backward(inputs.args, attended, inputs.dout, request); }),
        matrix / 2)
        << "backward " << problem.name;
  }
}

}  // namespace
}  // namespace heed
