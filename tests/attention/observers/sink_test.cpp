#include <gtest/gtest.h>

#include "heed/mask.h"
#include "heed/observe.h"

namespace heed {
namespace {

Tensor share(const AttentionArgs& args) {
  SinkObserver sink;
  Observer* const observers[] = {&sink};
  observe(args, attention(args), observers);
  return std::move(sink.share);
}

TEST(Sink, HasWhatTheKeysDoNot) {
  const Tensor x = Tensor::zeros({1, 2, 3, 1});
  Tensor logits = Tensor::zeros({2});
  logits.data<float>()[1] = -std::numeric_limits<float>::infinity();
  const AttentionArgs args = {
      .q = x, .keys = {x, x}, .mask = Mask::causal(), .scores = {.sink = logits}};
  const Tensor found = share(args);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(found.data<float>()[i], 1.0 / (i + 2), 1e-6);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(found.data<float>()[i], 0);
}

TEST(Sink, TakesTheWholeRowThatSeesNobody) {
  const Tensor x = Tensor::zeros({1, 1, 2, 1});
  const Tensor logits = Tensor::zeros({1});
  const AttentionArgs args = {.q = x,
                              .keys = {x, x},
                              .extents = {.q_offset = {-1}},
                              .mask = Mask::causal(),
                              .scores = {.sink = logits}};
  EXPECT_EQ(share(args).data<float>()[0], 1);
}

TEST(Sink, IsZeroWhereThereIsNone) {
  const Tensor x = Tensor::zeros({1, 1, 2, 1});
  EXPECT_EQ(share({.q = x, .keys = {x, x}}).data<float>()[0], 0);
}

}  // namespace
}  // namespace heed
