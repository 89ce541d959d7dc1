// What linear attention refuses, in whole messages.
#include <gtest/gtest.h>

#include "heed/operators.h"
#include "support/expect_error.h"

namespace heed {
namespace {

struct Wrong {
  LinearAttentionArgs args;
  const char* message;
};

TEST(LinearAttentionErrors, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({1, 2, 3, 4});
  const Tensor longer = Tensor::zeros({1, 2, 5, 4});
  const Tensor three = Tensor::zeros({1, 3, 3, 4});
  const Tensor beta = Tensor::zeros({1, 2, 3});
  const Wrong table[] = {
      {{.q = x, .k = longer, .v = longer},
       "linear_attention: q.shape[2] is 3, expected 5 (k's tokens, as attention is causal)"},
      {{.q = x, .k = three, .v = three},
       "linear_attention: q.shape[1] is 2, expected a multiple of 3 (k's heads)"},
      {{.q = x, .k = x, .v = longer},
       "linear_attention: v.shape is [1, 2, 5, 4], expected [1, 2, 3, 4]"},
      {{.q = x, .k = x, .v = x, .rule = UpdateRule::kGated},
       "linear_attention: decay is not given, expected one, as the rule decays"},
      {{.q = x, .k = x, .v = x, .beta = beta},
       "linear_attention: beta is given, expected none, as the rule does not correct"},
      {{.q = x, .k = x, .v = x, .scale = 1e300},
       "linear_attention: scale is 1e+300, expected at most 3.4e+38 in magnitude for sums of f32"},
      {{.q = x, .k = x, .v = x, .state = longer},
       "linear_attention: state.shape is [1, 2, 5, 4], expected [1, 2, 4, 4]"},
      {{.q = x, .k = x, .v = x, .beta = beta, .rule = UpdateRule::kDelta, .normalised = true},
       "linear_attention: normalised is true, expected false (the weights of a delta rule have no "
       "sum)"}};
  for (const Wrong& wrong : table)
    EXPECT_HEED_ERROR(linear_attention(wrong.args), ErrorCode::kInvalidArgument, wrong.message);
}

}  // namespace
}  // namespace heed
