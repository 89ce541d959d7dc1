// The output of `heed look` for programs, and the choice of the format.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using test::kText;
using test::look;
using test::tiny_model;

TEST(LookFormats, JsonHasEveryFieldAndRowsThatSumToOne) {
  const Answer answer = look({kText, "--format", "json", "--top", "all"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  EXPECT_EQ(found["model"], "tiny");
  EXPECT_EQ(found["stack"], "self");
  EXPECT_EQ(found["rows"].size(), found["tokens"].size());
  std::string text;
  for (const json& token : found["tokens"]) text += token["text"].get<std::string>();
  EXPECT_EQ(text, kText);
  for (const json& row : found["rows"]) {
    double sum = 0;
    for (const json& key : row["attends"]) sum += key["weight"].get<double>();
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(row["rest"]["count"], 0);
  }
  EXPECT_EQ(found["heads"].size(), 8);
  EXPECT_TRUE(found["chosen"].contains("reason"));
  EXPECT_EQ(found["next"].size(), 6);
}

TEST(LookFormats, ALinkOfThePageBringsItsText) {
  const std::string view = "look/L1.H2/i=1/x=the%20cat%20sat";
  const Answer linked = look({"--view", view, "--format", "json"});
  EXPECT_EQ(linked.status, 0) << linked.error;
  EXPECT_EQ(linked.out, look({"the cat sat", "--view", "look/L1.H2/i=1", "--format", "json"}).out);
  const Answer twice = look({"the cat", "--view", view});
  EXPECT_EQ(twice.status, 2);
  EXPECT_EQ(twice.error,
            "heed look: TEXT, --file and --ids cannot be used with a --view that has a text\n");
  EXPECT_EQ(look({"--view", "look/L1.H2/m=gpt9/x=the"}).error,
            "heed look: --model cannot be used with a --view of the model gpt9\n");
}

TEST(LookFormats, UnitsAreRowsOfTheTerminalAlone) {
  const Answer words = look({kText, "--units", "word", "--layer", "1", "--head", "2"});
  EXPECT_EQ(words.status, 0) << words.error;
  EXPECT_NE(words.out.find("summed over keys, averaged over rows"), std::string::npos);
  EXPECT_EQ(look({kText, "--units", "word", "--format", "json"}).error,
            "heed look: --units needs --format text\n");
}

TEST(LookFormats, NpyHoldsTheWeightsOfJson) {
  ASSERT_EQ(look({kText, "--format", "npy", "-o", in_scratch("weights.npy")}).status, 0);
  const Tensor weights = read_npy(in_scratch("weights.npy"));
  const json found = json::parse(
      look({kText, "--format", "json", "--top", "all", "--layer", "1", "--head", "2"}).out);
  const auto length = static_cast<std::int64_t>(found["tokens"].size());
  EXPECT_EQ(to_string(weights.shape()), to_string(Shape{2, 4, length, length}));
  for (const json& row : found["rows"])
    for (const json& key : row["attends"]) {
      const std::int64_t query = row["query"];
      const std::int64_t at = ((1 * 4 + 2) * length + query) * length + key["key"].get<int>();
      EXPECT_EQ(weights.data<float>()[at], key["weight"].get<float>());
    }
}

TEST(LookFormats, NpyOfOneHeadKeepsFourAxes) {
  ASSERT_EQ(look({"the cat", "--format", "npy", "--layer", "0", "--head", "3", "-o",
                  in_scratch("one.npy")})
                .status,
            0);
  const Tensor one = read_npy(in_scratch("one.npy"));
  EXPECT_EQ(one.dim(0), 1);
  EXPECT_EQ(one.dim(1), 1);
}

TEST(LookFormats, NpyHoldsLogits) {
  ASSERT_EQ(look({"--ids", "1,2,3", "--format", "npy", "--what", "logits", "-o",
                  in_scratch("logits.npy")})
                .status,
            0);
  EXPECT_EQ(read_npy(in_scratch("logits.npy")).dim(0), 3);
}

TEST(LookFormats, NpyHoldsHiddenOfEveryPosition) {
  const auto hidden = [&](const char* text, const char* file) {
    EXPECT_EQ(
        look({"--ids", text, "--format", "npy", "--what", "hidden", "-o", in_scratch(file)}).status,
        0);
    return read_npy(in_scratch(file));
  };
  const Tensor three = hidden("1,2,3", "three.npy");
  const Tensor two = hidden("1,2", "two.npy");
  ASSERT_EQ(to_string(three.shape()), "[3, 16]");
  for (std::int64_t i = 0; i < two.element_count(); ++i)
    EXPECT_NEAR(three.data<float>()[i], two.data<float>()[i], 1e-5) << i;
}

TEST(LookFormats, TsvHasOneLineAWeight) {
  const Answer answer =
      look({"the cat", "--format", "tsv", "--top", "1", "--layer", "0", "--head", "0"});
  EXPECT_THAT(answer.out,
              testing::StartsWith("layer\thead\tquery\tquery_token\tkey\tkey_token\tweight\n"
                                  "0\t0\t0\t"));
}

TEST(LookFormats, TsvHasEveryWeightUnlessFewerAreAskedFor) {
  const auto lines = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--ids", "1,2,3,4,5", "--format", "tsv"});
    const std::string out = look(more).out;
    return std::ranges::count(out, '\n') - 1;
  };
  EXPECT_EQ(lines({}), 5 * 6 / 2);
  EXPECT_EQ(lines({"--top", "2"}), 1 + 4 * 2);
}

TEST(LookFormats, TheEndingOfTheFilesNameChoosesTheFormat) {
  for (const char* format : {"json", "tsv", "npy", "html"}) {
    const std::string file = fmt::format("{}.{}", in_scratch("answer"), format);
    ASSERT_EQ(look({kText, "-o", file}).status, 0) << format;
    EXPECT_EQ(test::content(file), look({kText, "--format", format}).out) << format;
  }
}

TEST(LookFormats, APictureIsDrawnWhereTheNameSaysSo) {
  setenv("HEED_BROWSER", "no-such-browser", 1);
  const Answer answer = look({kText, "-o", in_scratch("answer.png")});
  unsetenv("HEED_BROWSER");
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::HasSubstr("no-such-browser"));
  EXPECT_FALSE(std::filesystem::exists(in_scratch("answer.png")));
}

TEST(LookFormats, ATextHasItsEndingOrNone) {
  for (const char* name : {"answer.txt", "answer"}) {
    ASSERT_EQ(look({kText, "-o", in_scratch(name)}).status, 0) << name;
    EXPECT_THAT(test::content(in_scratch(name)), testing::StartsWith("tiny  GPT-2")) << name;
  }
}

TEST(LookFormats, AnUnknownEndingIsRefusedUnlessTheFormatIsGiven) {
  for (const char* name : {"answer.jsn", "answer.csv", "answer.out"}) {
    const Answer answer = look({kText, "-o", in_scratch(name)});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed look: -o is " + in_scratch(name) +
                                ", expected an ending among .txt, .json, .tsv, .npy, .svg, .png, "
                                ".html, .graphml, .dot; --format allows any other ending\n");
    EXPECT_FALSE(std::filesystem::exists(in_scratch(name)));
    ASSERT_EQ(look({kText, "--format", "text", "-o", in_scratch(name)}).status, 0) << name;
    EXPECT_THAT(test::content(in_scratch(name)), testing::StartsWith("tiny  GPT-2")) << name;
  }
}

TEST(LookFormats, AFormatThatIsNotTheFilesIsRefused) {
  const std::string file = in_scratch("refused.png");
  const Answer answer = look({kText, "--format", "json", "-o", file});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed look: --format json and -o " + file +
                              " say two formats, expected them to agree\n");
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace heed::cli
