// `heed attend` with everything that scores, masks and layouts can be: what the operator gives.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/random_tensor.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::in_scratch;
using test::random_tensor;
using test::written;

Tensor integers(const Shape& shape, std::initializer_list<std::int64_t> values) {
  Tensor tensor = Tensor::empty(shape, DType::kI64);
  std::ranges::copy(values, tensor.data<std::int64_t>());
  return tensor;
}

// B 2, H 4, G 2, Tq 7, Tk 7, D 8, Dv 5.
class AttendScores : public testing::Test {
 protected:
  Tensor q = random_tensor({2, 4, 7, 8}, 1);
  Tensor k = random_tensor({2, 2, 7, 8}, 2);
  Tensor v = random_tensor({2, 2, 7, 5}, 3);
  Tensor dout = random_tensor({2, 4, 7, 5}, 4);
  AttentionArgs args = {.q = q.view(), .keys = {.k = k.view(), .v = v.view()}};

  Answer run(std::vector<std::string> options) const {
    std::vector<std::string> all = {"attend", written("q.npy", q), written("k.npy", k),
                                    written("v.npy", v)};
    all.insert(all.end(), options.begin(), options.end());
    return test::heed(all);
  }

  // Runs with `options`, which mean `args`: the same output.
  void expect_out(std::vector<std::string> options) const {
    options.insert(options.end(), {"-o", in_scratch("o.npy")});
    const Answer answer = run(std::move(options));
    ASSERT_EQ(answer.status, 0) << answer.error;
    EXPECT_TRUE(test::same_bits(read_npy(in_scratch("o.npy")), attention(args).out));
  }

  void expect_refused(const std::vector<std::string>& options, const std::string& message) const {
    const Answer answer = run(options);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed attend: " + message + "\n");
  }
};

TEST_F(AttendScores, TakesAllThatScoresCanBe) {
  const Tensor bias = random_tensor({4, 7, 7}, 5);
  const Tensor slopes = random_tensor({4}, 6);
  const Tensor sinks = random_tensor({4}, 7);
  args.scores = {.scale = {1, 2, 3, 0.5},
                 .similarity = Similarity::kCosine,
                 .softcap = 2,
                 .bias = bias,
                 .alibi = slopes,
                 .sink = sinks};
  args.dropout = Dropout{.rate = 0.25, .seed = 12, .offset = 3};
  expect_out({"--scale", "1,2,3,0.5", "--similarity", "cosine", "--softcap", "2", "--bias",
              written("bias.npy", bias), "--alibi", written("slopes.npy", slopes), "--sink",
              written("sink.npy", sinks), "--dropout", "0.25", "--seed", "12", "--dropout-offset",
              "3"});
}

TEST_F(AttendScores, TakesTheNormaliser) {
  args.scores.normaliser = Normaliser::kSigmoid;
  args.scores.similarity = Similarity::kGaussian;
  expect_out({"--normaliser", "sigmoid", "--similarity", "gaussian"});
}

TEST_F(AttendScores, WritesTheGradientsOfWhatWasGiven) {
  const Tensor bias = random_tensor({7, 7}, 5);
  const Tensor slopes = random_tensor({4}, 6);
  const Tensor sinks = random_tensor({4}, 7);
  args.scores = {.scale = {0.5}, .bias = bias, .alibi = slopes, .sink = sinks};
  const Answer answer =
      run({"--scale", "0.5", "--bias", written("bias.npy", bias), "--alibi",
           written("slopes.npy", slopes), "--sink", written("sink.npy", sinks), "--grad",
           written("dout.npy", dout), "--grad-out", in_scratch("grads")});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const AttentionGrads grads = attention_backward(
      args, attention(args), dout, {.dbias = true, .dsink = true, .dslope = true, .dscale = true});
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("grads/dq.npy")), grads.dq));
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("grads/dbias.npy")), grads.dbias));
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("grads/dsink.npy")), grads.dsink));
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("grads/dslope.npy")), grads.dslope));
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("grads/dscale.npy")), grads.dscale));
}

TEST_F(AttendScores, TakesSegments) {
  const Tensor ids = integers({7}, {0, 0, 0, 1, 1, 2, 2});
  const Tensor others = integers({7}, {0, 1, 1, 1, 2, 2, 2});
  args.mask = Mask::segments(ids, others);
  expect_out({"--segments", written("ids.npy", ids) + "," + written("others.npy", others)});
  args.mask = Mask::causal() & Mask::segments(ids);
  expect_out({"--causal", "bottom-right", "--segments", written("ids.npy", ids)});
}

TEST_F(AttendScores, TakesAPrefixWhoseRestIsCausal) {
  args.mask = Mask::causal() | Mask::prefix({3, 5});
  expect_out({"--prefix", written("prefix.npy", integers({2}, {3, 5}))});
}

TEST_F(AttendScores, TakesAPrefixBesideAWindowThatIsOpen) {
  args.mask = {};
  expect_out({"--prefix", written("prefix.npy", integers({2}, {3, 5})), "--window", "-1,-1"});
}

TEST_F(AttendScores, TakesBlocks) {
  Tensor layout = Tensor::zeros({2, 3}, DType::kBool);
  for (const int at : {0, 1, 5}) layout.data<bool>()[at] = true;
  args.mask = Mask::blocks(layout, {.rows = 4, .keys = 3});
  expect_out({"--blocks", written("blocks.npy", layout)});
  expect_out({"--blocks", written("blocks.npy", layout), "--block-size", "4,3"});
}

TEST_F(AttendScores, TakesAGraph) {
  const Tensor starts = integers({8}, {0, 2, 3, 3, 4, 4, 4, 5});
  const Tensor columns = integers({5}, {1, 3, 0, 6, 2});
  args.mask = Mask::edges(starts, columns);
  expect_out({"--edges", written("starts.npy", starts) + "," + written("columns.npy", columns)});
  const Tensor pairs = integers({5, 2}, {6, 2, 0, 3, 0, 1, 1, 0, 3, 6});
  expect_out({"--edges", written("pairs.npy", pairs)});
}

TEST_F(AttendScores, RefusesAGraphThatIsNotSorted) {
  const Tensor starts = integers({8}, {0, 2, 2, 2, 2, 2, 2, 2});
  const Tensor columns = integers({2}, {3, 1});
  expect_refused(
      {"-o", "x", "--edges", written("starts.npy", starts) + "," + written("c.npy", columns)},
      "--edges: columns[1] is 1, expected above 3 (row 0 rises from 0)");
}

TEST_F(AttendScores, TakesPackedSequences) {
  q = random_tensor({4, 7, 8}, 1);
  k = random_tensor({2, 9, 8}, 2);
  v = random_tensor({2, 9, 5}, 3);
  args.q = q;
  args.keys = {k, v};
  args.extents = {.query_starts = {0, 3, 7}, .key_starts = {0, 4, 9}};
  args.mask = Mask::causal();
  expect_out({"--causal", "bottom-right", "--packed-q", written("pq.npy", integers({3}, {0, 3, 7})),
              "--packed-k", written("pk.npy", integers({3}, {0, 4, 9}))});
}

TEST_F(AttendScores, ComputesInSixteenBitAndWritesBrainFloatsAsF32) {
  const Tensor q16 = Tensor::converted(q, DType::kBF16);
  const Tensor k16 = Tensor::converted(k, DType::kBF16);
  const Tensor v16 = Tensor::converted(v, DType::kBF16);
  args.q = q16;
  args.keys = {k16, v16};
  ASSERT_EQ(run({"--dtype", "bf16", "-o", in_scratch("o.npy")}).status, 0);
  EXPECT_TRUE(test::same_bits(read_npy(in_scratch("o.npy")),
                              Tensor::converted(attention(args).out, DType::kF32)));
}

TEST_F(AttendScores, RefusesWhatDoesNotGoTogether) {
  expect_refused({"-o", "x", "--lse", "y", "--normaliser", "none"},
                 "--normaliser is none, expected softmax: --lse and --dlse belong to it");
  expect_refused({"-o", "x", "--softcap", "-1"},
                 "--softcap is -1, expected a positive number, or 0 for none");
  expect_refused({"-o", "x", "--dropout", "2"}, "--dropout is 2, expected 0 to 1");
}

}  // namespace
}  // namespace heed::cli
