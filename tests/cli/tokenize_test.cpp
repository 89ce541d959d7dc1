// `heed tokenize` on the tokenizer of a small random GPT-2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using test::tiny_model;

TEST(TokenizeCommand, GivesIdsTextsAndBytes) {
  const Answer answer = test::heed({"tokenize", "the cat", "--json", "--model", tiny_model()});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  EXPECT_EQ(found["ids"].size(), found["tokens"].size());
  EXPECT_EQ(found["tokens"].back()["end"], 7);
}

TEST(TokenizeCommand, ReadsJsonStringsByLine) {
  std::ofstream(test::scratch() / "lines") << "\"the cat\"\n\"\\u732b\"\n";
  const Answer answer =
      test::heed({"tokenize", "--lines", in_scratch("lines"), "--model", tiny_model()});
  ASSERT_EQ(answer.status, 0) << answer.error;
  std::istringstream lines(answer.out);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(json::parse(line)["tokens"].back()["end"], 3);
}

TEST(TokenizeCommand, ReadsAFileOrStdin) {
  std::ofstream(test::scratch() / "text") << "the cat";
  const std::string of_text =
      test::heed({"tokenize", "the cat", "--json", "--model", tiny_model()}).out;
  const Answer of_file =
      test::heed({"tokenize", "--file", in_scratch("text"), "--json", "--model", tiny_model()});
  EXPECT_EQ(of_file.status, 0) << of_file.error;
  EXPECT_EQ(of_file.out, of_text);
  for (const std::vector<std::string>& from : {std::vector<std::string>{"--file", "-"}, {"-"}}) {
    std::vector<std::string> arguments = {"tokenize", "--json", "--model", tiny_model()};
    arguments.insert(arguments.end(), from.begin(), from.end());
    EXPECT_EQ(test::heed(arguments, "< " + in_scratch("text")).out, of_text);
  }
}

TEST(TokenizeCommand, TakesOneInputAndOneTokenizer) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Answer answer = test::heed(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed tokenize: " + message + "\n");
  };
  refused({"tokenize"}, "no text is given, expected one of TEXT, --file and --lines");
  refused({"tokenize", "the", "--file", "x"},
          "several texts are given, expected one of TEXT, --file and --lines");
  refused({"tokenize", "the", "--model", "a", "--tokenizer", "b"},
          "--model and --tokenizer are both given, expected one of them");
}

TEST(TokenizeCommand, NamesTheLineThatIsNoJsonString) {
  std::ofstream(test::scratch() / "bad") << "\"a\"\n7\n";
  const Answer answer =
      test::heed({"tokenize", "--lines", in_scratch("bad"), "--model", tiny_model()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed tokenize: " + in_scratch("bad") +
                              ": line 2: not a JSON string, expected one like \"a text\"\n");
}

}  // namespace
}  // namespace heed::cli
