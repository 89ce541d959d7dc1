// `heed look` on a small random GPT-2.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/tensor.h"
#include "support/places.h"
#include "support/shared_data.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using test::kText;
using test::look;
using test::tiny_model;

TEST(Look, SeveralGapsAreNoRepeatedWord) {
  const test::Answer answer = test::heed({"look", "She opened the [MASK] and [MASK] out.",
                                          "--model", HEED_SOURCE_DIR "/models/masks"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::HasSubstr("the gap `[MASK]` looks"));
}

TEST(Look, AByteOrderMarkIsNotPartOfTheText) {
  const std::string plain = test::in_scratch("plain-mark.txt");
  const std::string marked = test::in_scratch("byte-order-mark.txt");
  std::ofstream(plain) << "The king had a daughter.";
  std::ofstream(marked) << "\xEF\xBB\xBFThe king had a daughter.";
  const auto of = [](const std::string& file) {
    return test::heed({"look", "--file", file, "--model", HEED_SOURCE_DIR "/models/tales"}).out;
  };
  EXPECT_EQ(of(marked), of(plain));
}

TEST(LookCommand, NeverWritesOverItsOwnInput) {
  const std::string file = in_scratch("own.txt");
  std::ofstream(file) << kText;
  const Answer answer = look({"--file", file, "-o", file});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed look: -o is " + file + ", which is read, expected another file\n");
  EXPECT_THAT(look({file}).error,
              testing::HasSubstr("heed: " + file + " is read as a text; --file " + file));
}

TEST(LookCommand, OneTextAtMostComesFromStdin) {
  const Answer answer = look({"-", "--pair", "-"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed look: several texts come from stdin, expected one of them\n");
}

TEST(LookCommand, AKernelThatIsAskedForGivesTheSameWeights) {
  const auto weights = [](std::vector<std::string> arguments, const char* file) {
    arguments.insert(arguments.end(), {kText, "--format", "npy", "-o", in_scratch(file)});
    EXPECT_EQ(look(arguments).status, 0);
    return read_npy(in_scratch(file));
  };
  const Tensor usual = weights({}, "usual.npy");
  const Tensor portable = weights({"--kernel", "portable"}, "portable.npy");
  ASSERT_EQ(to_string(portable.shape()), to_string(usual.shape()));
  for (std::int64_t i = 0; i < usual.element_count(); ++i)
    EXPECT_NEAR(portable.data<float>()[i], usual.data<float>()[i], 1e-5) << i;
}

TEST(LookCommand, NamesTheKernelsWhereOneIsUnknown) {
  const Answer answer = look({kText, "--kernel", "tild"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::HasSubstr("kernel is 'tild', expected one of "));
}

TEST(LookCommand, HoldsWeightsInTheTypeThatIsAsked) {
  EXPECT_EQ(look({kText, "--dtype", "f32"}).out, look({kText}).out);
  const Answer narrow = look({kText, "--dtype", "bf16"});
  EXPECT_EQ(narrow.status, 0);
  EXPECT_NE(narrow.out, look({kText}).out);
  EXPECT_EQ(look({kText, "--dtype", "f64"}).error,
            "heed look: --dtype is \"f64\", expected one of f32, f16, bf16\n");
}

TEST(LookCommand, ALayerThatDoesNotExistIsRefusedBeforeTheTextIsRead) {
  const Answer answer = look({"", "--layer", "2"});
  EXPECT_EQ(answer.error, "heed look: --layer is 2, expected 0 to 1 (tiny has 2 layers)\n");
}

TEST(LookCommand, TextNamesTheChoiceAndTheParts) {
  const Answer answer = look({kText});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::StartsWith("tiny  GPT-2, 2 layers x 4 heads"));
  EXPECT_THAT(answer.out, testing::HasSubstr("heed chose this head: `"));
  EXPECT_THAT(answer.out, testing::HasSubstr("\nHeads  largest score of each"));
  EXPECT_THAT(answer.out, testing::HasSubstr("\nNext word  after \".\""));
  EXPECT_THAT(answer.out, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(LookCommand, WhoAndToShowEveryPlace) {
  const Answer answer = look({kText, "--layer", "0", "--head", "0", "--who", "cat", "--to", "cat"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::StartsWith("\"cat\" is at "));
  EXPECT_THAT(answer.out, testing::HasSubstr("The three that the mask lets see, of 4, L0.H0:"));
}

TEST(LookCommand, WhoAloneKeepsItsRows) {
  const json found = json::parse(look({kText, "--format", "json", "--who", "tired"}).out);
  EXPECT_EQ(found["rows"].size(), 1);
}

TEST(LookCommand, RefusesBadInputInOneLine) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Answer answer = look(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed look: " + message + "\n");
    EXPECT_EQ(answer.out, "");
  };
  refused({}, "no text is given, expected one of TEXT, --file and --ids");
  refused({kText, "--layer", "2"}, "--layer is 2, expected 0 to 1 (tiny has 2 layers)");
  refused({kText, "--head", "-1"}, "--head is -1, expected 0 to 3 (tiny has 4 heads)");
  refused({kText, "--head", "4", "--format", "npy"},
          "--head is 4, expected 0 to 3 (tiny has 4 heads)");
  refused({"", "--layer", "0"},
          "TEXT is empty, expected at least one word; for example: heed look \"The king had a "
          "daughter, and he loved her.\"");
  refused({" \n"},
          "TEXT is blank, expected at least one word; for example: heed look \"The king had "
          "a daughter, and he loved her.\"");
  refused({"--ids", "1,2,9999"}, "--ids is 9999, expected 0 to 269 (tiny's vocabulary)");
  std::string ids = "0";
  for (int i = 0; i < 40; ++i) ids += ",1";
  refused({"--ids", ids}, "--ids is 41 tokens, expected at most 40 (tiny's positions)");
}

std::string long_text() {
  std::string text = "tired.";
  for (int i = 0; i < 40; ++i) text += " the cat";
  return text + " sat.";
}

TEST(LookCommand, SaysHowATextThatIsTooLongCanBeRead) {
  for (const char* format : {"text", "json", "npy", "html"}) {
    const Answer answer = look({long_text(), "--format", format, "-o", in_scratch("too-long")});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error,
              "heed look: TEXT is 90 tokens, expected at most 40 (tiny's positions); "
              "--cut first or --cut last reads a part of it\n");
  }
}

TEST(LookCommand, AFolderIsNoFileToWrite) {
  for (const std::string& folder : {test::scratch().string(), test::scratch().string() + "/"}) {
    const Answer answer = look({kText, "-o", folder});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed look: " + folder + ": is a folder, expected a file's name\n");
  }
}

std::string text_that_is_kept(const char* part) {
  const Answer answer = look({long_text(), "--cut", part, "--format", "json"});
  EXPECT_EQ(answer.status, 0) << answer.error;
  const json tokens = json::parse(answer.out)["tokens"];
  EXPECT_EQ(tokens.size(), 40);
  std::string text;
  for (const json& token : tokens) text += token["text"].get<std::string>();
  return text;
}

TEST(LookCommand, KeepsTheFirstOrLastTokensOfATextThatIsTooLong) {
  const std::string first = text_that_is_kept("first");
  const std::string last = text_that_is_kept("last");
  EXPECT_EQ(first, long_text().substr(0, first.size()));
  EXPECT_EQ(last, long_text().substr(long_text().size() - last.size()));
}

TEST(LookCommand, KeepsAllOfATextThatTheModelCanRead) {
  EXPECT_EQ(look({kText, "--cut", "last"}).out, look({kText}).out);
}

TEST(LookCommand, ThePageAsAFileHoldsThePartThatIsKept) {
  const std::string first = text_that_is_kept("first");
  const Answer page = look({long_text(), "--cut", "first", "--format", "html"});
  EXPECT_EQ(page.status, 0) << page.error;
  EXPECT_EQ(page.out, look({first, "--format", "html"}).out);
}

// An encoder-decoder with a tokenizer of words.
std::filesystem::path translator() {
  const std::filesystem::path model = test::scratch() / "translator";
  const std::filesystem::path tests = HEED_SOURCE_DIR "/tests";
  std::filesystem::copy(
      tests / "models/golden/marian", model,
      std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive);
  json tokenizer = json::parse(test::content(tests / "text/tokenizers/words.json"));
  tokenizer["post_processor"] = nullptr;
  for (int id = 7; id <= 60; ++id) tokenizer["model"]["vocab"][fmt::format("word{}", id)] = id;
  std::ofstream(model / "tokenizer.json") << tokenizer.dump();
  return model;
}

TEST(LookCommand, SaysThatTheVocabularyHasNothingOfAText) {
  const std::string model = translator().string();
  const auto told = [&](const char* text, const char* target) {
    const Answer answer = test::heed({"look", text, "--target", target, "--model", model});
    EXPECT_EQ(answer.status, 0) << answer.error;
    return answer.error;
  };
  const std::string line = "heed look: no token of the {} is in the vocabulary ({} [UNK])\n";
  EXPECT_EQ(told("b c", "the"), fmt::format(fmt::runtime(line), "text", "2 of 2 tokens are"));
  EXPECT_EQ(told("the", "b"), fmt::format(fmt::runtime(line), "target", "1 of 1 token is"));
  EXPECT_EQ(told("cat b", "cat"), "heed look: 1 of 2 tokens of the text is [UNK]: b\n");
  EXPECT_EQ(told("cat", "cat the"), "");
  EXPECT_EQ(test::heed({"generate", "b", "-n", "1", "--model", model}).error,
            "heed generate: no token of the prompt is in the vocabulary (1 of 1 token is [UNK])\n");
}

TEST(LookCommand, SaysWhichCharactersBecomeBytes) {
  const Answer answer = look({"the 猫 sat. the 犬 sat。 tired"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error,
            "heed look: the tokenizer cuts 3 characters of the text into bytes: 猫 犬 。\n");
  EXPECT_EQ(look({"the cat"}).error, "");
}

TEST(LookCommand, SaysWhichOptionNamesAWordOfTheOtherText) {
  const std::string model = translator().string();
  const std::vector<std::string> look = {"look", "the", "--target", "cat", "--model", model};
  const auto refused = [&](std::vector<std::string> more, const std::string& message) {
    more.insert(more.begin(), look.begin(), look.end());
    test::expect_refused(more, message);
  };
  refused({"--who", "the"},
          "--who: \"the\" is in the source, not in the target; --to names a word of the source");
  refused({"--to", "cat"},
          "--to: \"cat\" is in the target, not in the source; --who names a word of the target");
}

TEST(LookCommand, ASourceThatIsTooLongCanBeCut) {
  const std::filesystem::path model = translator();
  std::string text = "a";
  for (int i = 0; i < 100; ++i) text += " a";
  const Answer whole = test::heed({"look", text, "--target", "a", "--model", model.string()});
  EXPECT_EQ(whole.status, 2);
  EXPECT_THAT(whole.error, testing::StartsWith("heed look: TEXT is "));
  EXPECT_THAT(whole.error, testing::EndsWith("; --cut first or --cut last reads a part of it\n"));
  const Answer part =
      test::heed({"look", text, "--target", "a", "--cut", "last", "--model", model.string()});
  EXPECT_EQ(part.status, 0) << part.error;
  const Answer target = test::heed({"look", "a", "--target", text, "--model", model.string()});
  EXPECT_EQ(target.status, 2);
  EXPECT_THAT(target.error, testing::StartsWith("heed look: --target is "));
}

TEST(LookCommand, NamesTheByteOfInvalidUtf8) {
  const Answer answer = look({"ab\xff"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::HasSubstr("byte 2"));
}

TEST(LookCommand, NamesTokensNearAWordThatIsNotThere) {
  const Answer answer = look({kText, "--who", "caat"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::StartsWith("heed look: --who: \"caat\" is not in the text"));
  EXPECT_THAT(answer.error, testing::HasSubstr("nearest: \"cat\" ("));
}

TEST(LookCommand, RefusesAModelThatIsNotThere) {
  const Answer answer = test::heed({"look", "hi", "--model", "no-such-model"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::HasSubstr("no-such-model"));
  EXPECT_THAT(answer.error, testing::MatchesRegex("heed look: [^\n]+\n"));
}

TEST(LookCommand, RefusesATruncatedModel) {
  const std::filesystem::path folder = test::scratch() / "cut";
  std::filesystem::copy(tiny_model(), folder, std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(folder / "model.safetensors", 2000);
  const Answer answer = test::heed({"look", "hi", "--model", folder.string()});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.error, testing::HasSubstr("model.safetensors"));
  EXPECT_THAT(answer.error, testing::MatchesRegex("heed look: [^\n]+\n"));
}

// The column of `cat`: the weights on it, from all that see it.
TEST(LookCommand, AWordThatIsLookedAtShowsWhoAttendsToIt) {
  const std::vector<std::string> head = {"--layer", "1", "--head", "2"};
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.begin(), head.begin(), head.end());
    options.insert(options.begin(), kText);
    return look(options).out;
  };
  const json answer = json::parse(with({"--to", "cat", "--top", "all", "--format", "json"}));
  ASSERT_GE(answer["columns"].size(), 1);
  const json& column = answer["columns"][0];
  const std::string key = std::to_string(column["key"].get<int>());
  for (const json& from : column["from"]) {
    const std::string query = std::to_string(from["query"].get<int>());
    const json cell = json::parse(with({"--who", query, "--to", key, "--format", "json"}));
    EXPECT_FLOAT_EQ(cell["cells"][0]["weight"].get<float>(), from["weight"].get<float>());
  }
  EXPECT_THAT(with({"--to", "cat"}), testing::StartsWith("Who attends to cat " + key +
                                                         "  L1.H2; the three largest queries\n"));
}

TEST(LookCommand, IdsMayStandApartByBlanks) {
  for (const char* ids : {"5 3 9", "5, 3, 9", " 5 3,9"})
    EXPECT_EQ(look({"--ids", ids}).out, look({"--ids", "5,3,9"}).out) << ids;
}

TEST(LookCommand, AFullDiskLeavesNothing) {
  const Answer answer = look({kText, "--format", "npy", "-o", "/dev/full"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.error, "heed look: /dev/full: cannot be written: No space left on device\n");
}

TEST(LookCommand, TakesIdsWhereThereIsNoTokenizer) {
  HEED_NEEDS_SHARED("models/gpt-nano-sort");
  const std::string model = (test::shared_data() / "models/gpt-nano-sort").string();
  const Answer answer =
      test::heed({"look", "--ids", "0,2,1", "--model", model, "--format", "json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_EQ(json::parse(answer.out)["tokens"][1]["text"], "#2");
  const Answer text = test::heed({"look", "021", "--model", model});
  EXPECT_EQ(text.status, 2);
  EXPECT_EQ(text.error,
            "heed look: TEXT is given, expected token ids; gpt-nano-sort has no tokenizer\n");
}

}  // namespace
}  // namespace heed::cli
