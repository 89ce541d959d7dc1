// `heed tokenize` on the tokenizer of a small random GPT-2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "support/places.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using test::tiny_model;

std::string words() { return HEED_SOURCE_DIR "/tests/text/tokenizers/words.json"; }

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

TEST(TokenizeCommand, ShowsIdPieceAndBytesOfEachToken) {
  const Answer answer = test::heed({"tokenize", "a b", "--tokenizer", words()});
  EXPECT_EQ(answer.out,
            "       1  a      0-1\n"
            "       0  [UNK]  2-3\n");
}

TEST(TokenizeCommand, TellsOfEachTokenOfAPairWhichTextItIsOf) {
  const std::vector<std::string> pair = {"tokenize",    "a",     "--pair",   "the a",
                                         "--tokenizer", words(), "--special"};
  EXPECT_EQ(test::heed(pair).out,
            "       1  a      0-0\n"
            "       1  a      0-1  A\n"
            "       2  the    1-1\n"
            "       2  the    1-1\n"
            "       2  the    0-3  B\n"
            "       1  a      4-5  B\n"
            "       2  the    5-5\n");
  std::vector<std::string> as_json = pair;
  as_json.emplace_back("--json");
  const json found = json::parse(test::heed(as_json).out);
  EXPECT_EQ(found["types"], json::array({0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(found["tokens"][4]["of"], 1);
  EXPECT_EQ(found["tokens"][4]["piece"], "the");
  EXPECT_EQ(found["tokens"][0]["of"], nullptr);
}

TEST(TokenizeCommand, DecodesIds) {
  EXPECT_EQ(test::heed({"tokenize", "--decode", "2,1", "--tokenizer", words()}).out, "the a\n");
  EXPECT_EQ(json::parse(
                test::heed({"tokenize", "--decode", "2,1", "--tokenizer", words(), "--json"}).out),
            (json{{"text", "the a"}}));
  const Answer answer = test::heed({"tokenize", "--decode", "99", "--tokenizer", words()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed tokenize: --decode is 99, expected 0 to 6\n");
}

TEST(TokenizeCommand, SaysOnceWhichLettersTheTokenizerDrops) {
  const std::string file = test::in_scratch("letters.json");
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"decoder", nullptr},
      {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", json::array()}}}};
  std::ofstream(file) << tokenizer.dump();
  const auto told = [&](const std::vector<std::string>& text) {
    std::vector<std::string> all = {"tokenize", "--tokenizer", file};
    all.insert(all.end(), text.begin(), text.end());
    return test::heed(all).error;
  };
  EXPECT_EQ(told({"ab ba"}), "");
  EXPECT_EQ(told({"abz é"}), "heed tokenize: the tokenizer drops 2 characters of the text: z é\n");
  std::ofstream(test::in_scratch("two-lines")) << "\"xa\"\n\"ya\"\n";
  EXPECT_EQ(told({"--lines", test::in_scratch("two-lines")}),
            "heed tokenize: the tokenizer drops 1 character of the text: x\n");
}

TEST(TokenizeCommand, AFolderWithoutATokenizerIsOneLine) {
  const auto folder = in_scratch("no-tokenizer");
  std::filesystem::create_directories(folder);
  const Answer answer = test::heed({"tokenize", "a", "--tokenizer", folder});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed tokenize: " + folder +
                ": no tokenizer, expected tokenizer.json, vocab.json with merges.txt, "
                "vocab.txt, tokenizer.model, spiece.model or source.spm with "
                "vocab.json\n");
}

TEST(TokenizeCommand, AGapInTheVocabularyIsSaidToBeOne) {
  const std::string file = in_scratch("gap.json");
  json gap = json::parse(test::content(words()));
  gap["model"]["vocab"]["far"] = 9;
  std::ofstream(file) << gap.dump();
  const Answer answer = test::heed({"tokenize", "--decode", "8", "--tokenizer", file});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed tokenize: --decode is 8, a gap in the vocabulary, expected an id from 0 to 9 "
            "that a token has\n");
}

TEST(TokenizeCommand, ATargetNeedsATokenizerOfItsOwn) {
  const Answer answer = test::heed({"tokenize", "the", "--target", "--model", tiny_model()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed tokenize: --target is given, expected none: tiny has one tokenizer for all "
            "texts\n");
}

TEST(TokenizeCommand, TakesOneInputAndOneTokenizer) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Answer answer = test::heed(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed tokenize: " + message + "\n");
  };
  refused({"tokenize"}, "no text is given, expected one of TEXT, --file, --lines and --decode");
  refused({"tokenize", "the", "--file", "x"},
          "several texts are given, expected one of TEXT, --file, --lines and --decode");
  refused({"tokenize", "the", "--model", "a", "--tokenizer", "b"},
          "--model and --tokenizer are both given, expected one of them");
  refused({"tokenize", "--decode", "1", "--pair", "a", "--tokenizer", "x"},
          "--pair is given with --decode, expected it with TEXT or --file");
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
