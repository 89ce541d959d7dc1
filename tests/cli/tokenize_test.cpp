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

TEST(TokenizeCommand, NamesTheLineThatIsNoJsonString) {
  std::ofstream(test::scratch() / "bad") << "\"a\"\n7\n";
  const Answer answer =
      test::heed({"tokenize", "--lines", in_scratch("bad"), "--model", tiny_model()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed tokenize: " + in_scratch("bad") +
                              ": line 2 is no JSON string, expected one like \"a text\"\n");
}

}  // namespace
}  // namespace heed::cli
