#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::in_scratch;
using test::written;

Tensor wave(const Shape& shape, double phase) {
  Tensor tensor = Tensor::empty(shape);
  for (std::int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + phase));
  return tensor;
}

void expect_equal(const std::string& path, const ConstView& expected) {
  const Tensor found = read_npy(path);
  const Tensor wanted = Tensor::copy_of(expected);
  ASSERT_EQ(to_string(found.shape()), to_string(wanted.shape()));
  for (std::int64_t i = 0; i < found.element_count(); ++i)
    ASSERT_EQ(found.data<float>()[i], wanted.data<float>()[i]) << i;
}

class AttendCommand : public testing::Test {
 protected:
  Tensor q = wave({2, 4, 7, 8}, 0);
  Tensor k = wave({2, 2, 9, 8}, 1);
  Tensor v = wave({2, 2, 9, 5}, 2);
  std::vector<std::string> files = {"attend", written("q.npy", q.view()),
                                    written("k.npy", k.view()), written("v.npy", v.view())};
  AttentionArgs args = {.q = q.view(), .keys = {.k = k.view(), .v = v.view()}};

  std::vector<std::string> with(const std::vector<std::string>& options) const {
    std::vector<std::string> all = files;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  Answer run(const std::vector<std::string>& options) const { return test::heed(with(options)); }
  void refused(const std::vector<std::string>& options, const std::string& message) const {
    test::expect_refused(with(options), message);
  }
};

TEST_F(AttendCommand, WritesWhatTheOperatorGives) {
  args.mask = Mask::causal();
  const Attended attended = attention(args);
  const Answer answer =
      run({"--causal", "bottom-right", "-o", in_scratch("o.npy"), "--lse", in_scratch("lse.npy")});
  EXPECT_EQ(answer.error, "heed attend: wrote [2, 4, 7, 5] f32 to " + in_scratch("o.npy") +
                              "\nheed attend: wrote [2, 4, 7] f32 to " + in_scratch("lse.npy") +
                              "\n");
  ASSERT_EQ(answer.status, 0);
  expect_equal(in_scratch("o.npy"), attended.out.view());
  expect_equal(in_scratch("lse.npy"), attended.lse.view());
}

TEST_F(AttendCommand, WritesToStandardOutput) {
  const Answer answer = run({"-o", "-"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  std::ofstream(in_scratch("piped.npy"), std::ios::binary) << answer.out;
  expect_equal(in_scratch("piped.npy"), attention(args).out.view());
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(AttendCommand, TopLeftStandsQueryZeroAtKeyZero) {
  args.mask = Mask::band({.left = 3, .right = 0});
  args.extents.q_offset = {0};
  ASSERT_EQ(run({"--causal", "top-left", "--window", "3,-1", "-o", in_scratch("o.npy")}).status, 0);
  expect_equal(in_scratch("o.npy"), attention(args).out.view());
}

TEST_F(AttendCommand, WritesGradients) {
  const Tensor dout = wave({2, 4, 7, 5}, 3);
  const AttentionGrads grads = attention_backward(args, attention(args), dout.view());
  ASSERT_EQ(
      run({"--grad", written("dout.npy", dout.view()), "--grad-out", in_scratch("grads")}).status,
      0);
  expect_equal(in_scratch("grads/dq.npy"), grads.dq.view());
  expect_equal(in_scratch("grads/dk.npy"), grads.dk.view());
  expect_equal(in_scratch("grads/dv.npy"), grads.dv.view());
}

TEST_F(AttendCommand, WritesOnlyTheGradientsThatAreNamed) {
  args.scores.scale = {0.3};
  const Tensor dout = wave({2, 4, 7, 5}, 3);
  const AttentionGrads grads =
      attention_backward(args, attention(args), dout.view(), {.dk = false, .dscale = true});
  const Answer answer = run({"--scale", "0.3", "--grad", written("dout.npy", dout.view()),
                             "--grad-of", "dq,dscale", "--grad-out", in_scratch("some")});
  ASSERT_EQ(answer.status, 0) << answer.error;
  expect_equal(in_scratch("some/dq.npy"), grads.dq.view());
  expect_equal(in_scratch("some/dscale.npy"), grads.dscale.view());
  for (const char* name : {"some/dk.npy", "some/dv.npy"})
    EXPECT_FALSE(std::filesystem::exists(in_scratch(name))) << name;
}

TEST_F(AttendCommand, RefusesGradientsOfWhatIsNotGiven) {
  const auto refuses = [&](const std::string& list, const std::string& message) {
    refused({"--grad", files[1], "--grad-of", list, "--grad-out", in_scratch("none")}, message);
  };
  refuses("dq,dbias", "--grad-of is dbias, expected --bias beside it");
  refuses("dscale", "--grad-of is dscale, expected --scale beside it");
  refuses("dx", "--grad-of is \"dx\", expected one of dq, dk, dv, dbias, dsink, dslope, dscale");
}

TEST_F(AttendCommand, WritesObservations) {
  const Answer answer = run(
      {"--observe", "entropy,topk=3,received,heatmap=2x3", "--observe-out", in_scratch("seen")});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_EQ(to_string(read_npy(in_scratch("seen/entropy.npy")).shape()), "[2, 4, 7]");
  EXPECT_EQ(to_string(read_npy(in_scratch("seen/topk_keys.npy")).shape()), "[2, 4, 7, 3]");
  EXPECT_EQ(to_string(read_npy(in_scratch("seen/topk_weights.npy")).shape()), "[2, 4, 7, 3]");
  EXPECT_EQ(to_string(read_npy(in_scratch("seen/received.npy")).shape()), "[2, 4, 9]");
  EXPECT_EQ(to_string(read_npy(in_scratch("seen/heatmap.npy")).shape()), "[2, 4, 2, 3]");
}

TEST_F(AttendCommand, SaysWhichObservationsItWroteAndWhichPlacesArePadding) {
  const std::string folder = in_scratch("told");
  const Answer answer = run({"--observe", "topk=99,received", "--observe-out", folder, "-o", "-"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_EQ(answer.error,
            "heed attend: wrote [2, 4, 7, 99] i64 to " + folder +
                "/topk_keys.npy; rows have at most 9 keys: places 10 to 99 hold key -1 and weight "
                "0\nheed attend: wrote [2, 4, 7, 99] f32 to " +
                folder + "/topk_weights.npy\nheed attend: wrote [2, 4, 9] f32 to " + folder +
                "/received.npy\n");
  EXPECT_EQ(read_npy(folder + "/topk_keys.npy").data<std::int64_t>()[9], -1);
  EXPECT_EQ(read_npy(folder + "/topk_weights.npy").data<float>()[9], 0);
}

TEST_F(AttendCommand, WritesEveryKindOfObservation) {
  const std::pair<const char*, const char*> kinds[] = {{"row_max", "[2, 4, 7]"},
                                                       {"received_in_all", "[2, 9]"},
                                                       {"sink", "[2, 4, 7]"},
                                                       {"row=3", "[2, 4, 9]"},
                                                       {"column=2", "[2, 4, 7]"},
                                                       {"heatmap=2x3:mean", "[2, 4, 2, 3]"},
                                                       {"head_mean", "[2, 7, 9]"},
                                                       {"expected_distance", "[2, 4, 7]"},
                                                       {"weights", "[2, 4, 7, 9]"},
                                                       {"offset_profile=-1:2", "[2, 4, 4]"},
                                                       {"value_norm:received", "[2, 4, 9]"}};
  std::string list;
  for (const auto& [item, shape] : kinds) list += (list.empty() ? "" : ",") + std::string(item);
  const Answer answer = run({"--observe", list, "--observe-out", in_scratch("kinds")});
  ASSERT_EQ(answer.status, 0) << answer.error;
  for (const auto& [item, shape] : kinds) {
    std::string stem = item;
    if (stem.starts_with("row=")) stem = "row_3";
    if (stem.starts_with("column=")) stem = "column_2";
    if (stem.starts_with("value_norm:")) stem = "value_norm_received";
    stem = stem.substr(0, stem.find('='));
    EXPECT_EQ(to_string(read_npy(in_scratch("kinds/" + stem + ".npy")).shape()), shape) << item;
  }
}

TEST_F(AttendCommand, KeepsTheRankOfTheInput) {
  const Tensor q2 = wave({6, 8}, 0);
  const Tensor k2 = wave({6, 8}, 1);
  files = {"attend", written("q2.npy", q2.view()), written("k2.npy", k2.view()),
           written("v2.npy", k2.view())};
  ASSERT_EQ(run({"-o", in_scratch("o2.npy"), "--lse", in_scratch("lse2.npy")}).status, 0);
  EXPECT_EQ(to_string(read_npy(in_scratch("o2.npy")).shape()), "[6, 8]");
  EXPECT_EQ(to_string(read_npy(in_scratch("lse2.npy")).shape()), "[6]");
}

TEST_F(AttendCommand, RefusesToWriteOneFileTwice) {
  refused({"-o", "both.npy", "--lse", "both.npy"},
          "-o and --lse both name both.npy, expected a file for each");
  refused({"-o", "-", "--lse", "-"},
          "-o and --lse both go to standard output, expected a file for one of them");
  refused({"-o", files[2]}, "-o is " + files[2] + ", which is read, expected another file");
  refused({"--lse", files[1]}, "--lse is " + files[1] + ", which is read, expected another file");
  const std::string ids = written("ids.npy", wave({2, 6}, 0).view());
  refused({"--segments", ids, "-o", ids},
          "-o is " + ids + ", which is read, expected another file");
  const std::string folder = in_scratch("inputs");
  std::filesystem::create_directories(folder);
  const std::string dout = written("inputs/dk.npy", wave({2, 4, 7, 5}, 3).view());
  refused({"--grad", dout, "--grad-out", folder, "--grad-of", "dk"},
          "--grad-out is " + dout + ", which is read, expected another file");
  const std::string out = in_scratch("not-yet.npy");
  refused({"--grad", dout, "--grad-out", folder, "--grad-of", "dk", "-o", out},
          "--grad-out is " + dout + ", which is read, expected another file");
  EXPECT_FALSE(std::filesystem::exists(out)) << "it computed before it refused";
  refused(
      {"--observe", "topk=2,entropy,topk=3", "--observe-out", "x"},
      "--observe is topk=2 and topk=3, which both answer in topk_keys.npy, expected one of them");
}

TEST_F(AttendCommand, WithoutAFileCountsRowsWithNaN) {
  q.data<float>()[0] = std::nanf("");
  files[1] = written("nan.npy", q.view());
  EXPECT_THAT(run({}).out,
              testing::ContainsRegex("\nlse     -?[0-9.]+ to [0-9.]+; 1 row with NaN\n"));
}

TEST_F(AttendCommand, WithoutAFilePrintsWhatItComputed) {
  args.mask = Mask::causal();
  const Attended attended = attention(args);
  const Answer answer = run({"--causal", "bottom-right"});
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::StartsWith("out     [2, 4, 7, 5] f32\n       0  "));
  EXPECT_THAT(answer.out,
              testing::HasSubstr(fmt::format("{:>10.4f}", attended.out.data<float>()[5])));
  EXPECT_THAT(answer.out, testing::ContainsRegex("\nlse     -?[0-9.]+ to -?[0-9.]+\n"));
  const std::string kernel = "\nkernel  " + plan_attention(args).kernel + "\n";
  EXPECT_THAT(answer.out,
              testing::EndsWith("\nmask    band(left=-1, right=0), bottom-right" + kernel));
  EXPECT_THAT(run({}).out, testing::EndsWith("\nmask    none" + kernel));
}

TEST_F(AttendCommand, CausalWithoutAWordIsBottomRightAndSaysSo) {
  const std::string asked = run({"--causal", "bottom-right"}).out;
  const Answer answer = run({"--causal"});
  EXPECT_EQ(answer.out, asked);
  EXPECT_EQ(answer.error, "heed attend: --causal means --causal=bottom-right\n");
  files.insert(files.begin() + 1, "--causal");  // the next argument is a file, no word of it
  EXPECT_EQ(run({}).out, asked);
}

TEST_F(AttendCommand, RefusesBadInputInOneLine) {
  refused({"--window", "3,,0", "-o", "o.npy"}, "--window is \"3,,0\", expected L,R");
  refused({"--observe", "entropi", "--observe-out", "x"},
          "--observe is \"entropi\", which is not an observer, expected some of entropy, topk=K, "
          "row_max, "
          "received, received_in_all, offset_profile=FIRST:LAST, expected_distance, sink, row=I, "
          "column=J, heatmap=HEIGHTxWIDTH[:max|mean|sum], head_mean, weights, and value_norm:ONE");
  refused({"--observe", "value_norm:entropy", "--observe-out", "x"},
          "--observe value_norm: weighted is entropy, expected one of weights (weights times norms "
          "have no logarithms)");
  refused({"--observe", "topk=0", "--observe-out", "x"},
          "--observe is \"topk=0\", expected topk=K");
  refused({"--observe", "offset_profile=-9223372036854775808:9223372036854775807", "--observe-out",
           "x"},
          "--observe offset_profile: first is -9223372036854775808, expected a distance within "
          "16777216 of 0");
  refused({"--observe", "topk=99999999999", "--observe-out", "x"},
          "--observe topk: k is 99999999999, expected 1 to 1048576");
  refused({"--causal", "left", "-o", "x"},
          "--causal is \"left\", expected one of top-left, bottom-right");
  files[1] = in_scratch("absent.npy");
  refused({"-o", "x"}, in_scratch("absent.npy") + ": cannot be opened: No such file or directory");
}

TEST_F(AttendCommand, RefusesShapesThatDoNotFitAsTheOperatorDoes) {
  files[1] = written("narrow.npy", wave({2, 4, 7, 6}, 0).view());
  refused({"-o", "x"}, "shape[3] of K is 8, expected 6 (q's head size)");
}

TEST_F(AttendCommand, NamesKIfItsHeadsFitNeitherQNorV) {
  files[2] = written("three_heads.npy", wave({2, 3, 9, 8}, 1).view());
  refused({"-o", "x"}, "shape[1] of K is 3, expected 2 as V, and a divisor of 4 (Q's heads)");
}

TEST_F(AttendCommand, ReportsAFullDiskWithStatusOne) {
  const Answer answer = run({"-o", "/dev/full"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error, "heed attend: /dev/full: cannot be written: No space left on device\n");
}

}  // namespace
}  // namespace heed::cli
