// `heed look` with two texts: a pair for an encoder, or a source and its target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "serve/page_sources.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string output_of_look(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "look");
  const test::Answer answer = test::heed(arguments);
  EXPECT_EQ(answer.status, 0) << answer.error;
  return answer.out;
}

std::string pair_as(const char* format, const char* second) {
  return output_of_look(
      {"the cat", "--pair", second, "--model", test::tiny_encoder(), "--format", format});
}

std::string cross_as(const char* format) {
  return output_of_look({"the cat sat", "--target", "a mat", "--model", test::tiny_translator(),
                         "--stack", "cross", "--format", format});
}

TEST(LookSides, WhoAttendsToAWordSaysWhichHeadWasChosen) {
  const std::vector<std::string> asked = {"the cat sat", "--to", "cat", "--model",
                                          test::tiny_model()};
  EXPECT_THAT(output_of_look(asked), HasSubstr("heed chose this head: "));
  std::vector<std::string> given = asked;
  given.insert(given.end(), {"--layer", "0", "--head", "1"});
  EXPECT_THAT(output_of_look(given), testing::Not(HasSubstr("heed chose")));
}

TEST(LookSides, AnEdgeIsShownAtTheHeadThatGivesItMost) {
  std::vector<std::string> asked = {
      "the cat sat on the mat", "--who",    "sat", "--to", "cat", "--model",
      test::tiny_model(),       "--format", "json"};
  const json chosen = json::parse(output_of_look(asked))["chosen"];
  EXPECT_THAT(chosen["reason"], testing::StartsWith("it gives this edge the largest weight, 0."));
  for (const int layer : {0, 1})
    for (const int head : {0, 1}) {
      std::vector<std::string> other = asked;
      other.insert(other.end(), {"--layer", std::to_string(layer), "--head", std::to_string(head)});
      const json cell = json::parse(output_of_look(other))["cells"][0];
      EXPECT_LE(cell["weight"].get<double>(), chosen["score"].get<double>() + 1e-6);
    }
}

TEST(LookSides, AWordThatOnlyItsNeighboursAttendToSaysSo) {
  const json look = json::parse(output_of_look(
      {"the cat sat", "--to", "sat", "--model", test::tiny_model(), "--format", "json"}));
  EXPECT_EQ(look["chosen"]["reason"], "no token beyond its neighbours can attend to this word");
}

TEST(LookSides, AWordIsShownAtTheHeadThatGivesOneEdgeToItMost) {
  const auto answer = [](std::vector<std::string> asked) {
    asked.insert(asked.begin(), "the cat sat on the mat");
    asked.insert(asked.end(), {"--to", "cat", "--model", test::tiny_model(), "--format", "json"});
    return json::parse(output_of_look(asked));
  };
  const json chosen = answer({})["chosen"];
  EXPECT_EQ(chosen["reason"], "it gives this word the largest weight from a token not next to it");
  double largest = 0;
  for (const char* query : {"sat", "on", "mat"}) {
    const json edge = answer({"--who", query})["chosen"];
    if (edge["score"].get<double>() <= largest) continue;
    largest = edge["score"];
    EXPECT_LE(largest, chosen["score"].get<double>() + 1e-6) << query;
  }
  EXPECT_GT(largest, 0);
}

TEST(LookSides, AnEdgeThatTheMaskHidesHasNoHead) {
  const std::vector<std::string> asked = {"the cat sat", "--who",           "cat", "--to", "sat",
                                          "--model",     test::tiny_model()};
  EXPECT_THAT(output_of_look(asked), testing::StartsWith("no head can see it\ncat "));
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = asked;
    all.insert(all.end(), more.begin(), more.end());
    return output_of_look(all);
  };
  EXPECT_THAT(with({"--layer", "1"}), testing::StartsWith("no head of layer 1 can see it\n"));
  EXPECT_THAT(with({"--head", "1"}), testing::StartsWith("head 1 of no layer can see it\n"));
  EXPECT_THAT(with({"--layer", "1", "--head", "1"}), testing::StartsWith("cat "));
  const json chosen = json::parse(with({"--format", "json"}))["chosen"];
  EXPECT_EQ(chosen["reason"], "no head can see it");
  EXPECT_EQ(chosen["score"], 0);
}

TEST(LookSides, SaysWhatWasChosenBesideALayerOrAHead) {
  const std::pair<std::vector<std::string>, const char*> places[] = {
      {{"--head", "1"}, "heed chose this layer for head 1: "},
      {{"--layer", "1"}, "heed chose this head of layer 1: "}};
  for (const auto& [place, said] : places)
    for (const bool of_word : {false, true}) {
      std::vector<std::string> asked = {"the cat sat on the mat", "--model", test::tiny_model()};
      asked.insert(asked.end(), place.begin(), place.end());
      if (of_word) asked.insert(asked.end(), {"--to", "cat"});
      EXPECT_THAT(output_of_look(asked), HasSubstr(said));
    }
  EXPECT_THAT(
      output_of_look({"the cat sat", "--who", "sat", "--to", "cat", "--head", "1", "--model",
                      test::tiny_model()}),
      HasSubstr(", head 1, the layer chosen by heed: it gives this edge the largest weight"));
}

TEST(LookSides, TheReasonStandsBelowTheHeadingOfTheWord) {
  const std::string text =
      output_of_look({"the cat sat on the mat", "--to", "cat", "--model", test::tiny_model()});
  EXPECT_THAT(text, testing::StartsWith("Who attends to cat 1  "));
  EXPECT_THAT(text, HasSubstr("; the three largest queries\n  heed chose this head: it gives this "
                              "word the largest weight from a token not next to it\n"));
}

TEST(LookSides, TheReasonForAWordOfAnotherTextKnowsNoNeighbours) {
  const json look = json::parse(output_of_look(
      {"The doctor plays", "--stack", "cross", "--to", "doctor", "--format", "json"}));
  EXPECT_EQ(look["chosen"]["reason"], "it gives this word the largest weight");
}

TEST(LookSides, TheReasonRoundsAsTheWeightBelowIt) {
  const std::string text =
      output_of_look({"The king had a daughter", "--who", "The king", "--to", "The"});
  EXPECT_THAT(text, HasSubstr("the largest weight, 0.997\n"));
  EXPECT_THAT(text, HasSubstr("     0.997   largest of 3"));
}

TEST(LookSides, AReasonNamesTheUnitsThatTheRowsShow) {
  const std::string words =
      output_of_look({"She plays the piano", "--who", "piano", "--units", "word"});
  EXPECT_THAT(words, HasSubstr("`piano` looks back 2 words to `plays` (.25): "));
  EXPECT_THAT(words, HasSubstr(">piano"));
  EXPECT_THAT(words, HasSubstr("plays  .253"));
  EXPECT_THAT(output_of_look({"\U0001F600 and \u738B\u69D8 here."}),
              HasSubstr("`here` looks back 2 characters to `\u738B` (.53): "));
  EXPECT_THAT(output_of_look({"She plays the piano", "--who", "piano", "--units", "sentence"}),
              HasSubstr("`piano` looks back 4 tokens to `plays` (.18): "));
}

TEST(LookSides, AHeadMayNameItsLayer) {
  const std::vector<std::string> asked = {"the cat sat", "--model", test::tiny_model()};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"look"};
    all.insert(all.end(), asked.begin(), asked.end());
    all.insert(all.end(), more.begin(), more.end());
    return test::heed(all);
  };
  const test::Answer named = with({"--head", "L1.H0"});
  EXPECT_EQ(named.status, 0) << named.error;
  EXPECT_EQ(named.out, with({"--layer", "1", "--head", "0"}).out);
  EXPECT_EQ(with({"--layer", "0", "--head", "L1.H0"}).error,
            "heed look: --layer 0 and --head L1.H0 contradict each other, expected one of them\n");
  EXPECT_EQ(with({"--head", "99.99"}).error,
            "heed look: --head is \"99.99\", expected a whole number, or a layer and a head as in "
            "L1.H3\n");
  EXPECT_EQ(with({"--view", "L1.H0"}).error,
            "heed look: --view is \"L1.H0\", expected an address of the page, as in "
            "look/L2.H4/i=17/j=3; did you mean look/L1.H0?\n");
}

TEST(LookPair, JsonSaysWhereTheSecondTextBegins) {
  const json found = json::parse(pair_as("json", "on the mat"));
  std::string first, second;
  for (const json& token : found["tokens"])
    (token["index"] < found["split"] ? first : second) += token["text"].get<std::string>();
  EXPECT_EQ(first, "the cat");
  EXPECT_EQ(second, "on the mat");
  const json shares = found["heads"][0]["shares"];
  EXPECT_NEAR(shares["a_to_a"].get<double>() + shares["a_to_b"].get<double>(), 1, 1e-5);
}

TEST(LookPair, OneTextHasNoSplit) {
  const json found =
      json::parse(output_of_look({"the cat", "--model", test::tiny_encoder(), "--format", "json"}));
  EXPECT_FALSE(found.contains("split"));
  EXPECT_FALSE(found["heads"][0].contains("shares"));
}

TEST(LookPair, TsvNamesTheTextOfEachToken) {
  std::istringstream lines(pair_as("tsv", "on the mat"));
  const std::int64_t split = json::parse(pair_as("json", "on the mat"))["split"];
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, testing::EndsWith("\tweight\tquery_text\tkey_text"));
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    std::istringstream fields(line);
    std::string field;
    std::vector<std::string> all;
    while (std::getline(fields, field, '\t')) all.push_back(field);
    ASSERT_EQ(all.size(), 9U) << line;
    EXPECT_EQ(all[7], std::stoi(all[2]) < split ? "A" : "B") << line;
    EXPECT_EQ(all[8], std::stoi(all[4]) < split ? "A" : "B") << line;
  }
  EXPECT_GT(count, 16);
}

// As the server says of it: the token that closes the texts is the second one's.
TEST(LookPair, AnEmptySecondTextIsOneOfAPair) {
  const json found = json::parse(pair_as("json", ""));
  EXPECT_EQ(found["split"], found["tokens"].size() - 1);
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  const test::Answer view =
      test::heed({"look", "the cat", "--pair", "", "--model", test::tiny_encoder(), "--view",
                  "look/L0.H0/pair=A-B", "--format", "html"});
  EXPECT_EQ(view.error, "");
}

TEST(LookPair, AnErrorNamesTheTextThatIsToBeShortened) {
  const auto refused = [](std::size_t first, std::size_t second) {
    const test::Answer answer =
        test::heed({"look", std::string(first, 'z'), "--pair", std::string(second, 'z'), "--model",
                    test::tiny_encoder()});
    EXPECT_EQ(answer.status, 2);
    return answer.error;
  };
  EXPECT_EQ(
      refused(60, 10),
      "heed look: TEXT is 60 tokens, expected at most 54 beside 10 of the other text and 0 "
      "that the tokenizer adds (tiny-reader's positions are 64); --cut first or --cut last reads "
      "a part of it\n");
  EXPECT_EQ(refused(2, 70),
            "heed look: --pair is 70 tokens, expected at most 63 beside 1 of the other text and 0 "
            "that the tokenizer adds (tiny-reader's positions are 64); --cut cuts the first text "
            "alone\n");
}

TEST(LookCross, AnErrorNamesTheTargetThatIsToBeShortened) {
  const test::Answer answer = test::heed(
      {"look", "the cat", "--target", std::string(60, 'z'), "--model", test::tiny_translator()});
  EXPECT_EQ(
      answer.error,
      "heed look: --target is 61 tokens, expected at most 40 (tiny-translator's positions); --cut "
      "cuts the first text alone\n");
}

TEST(LookSides, AnEncodersHeadIsSavedWhereTheSourceIsLongerThanTheTarget) {
  EXPECT_THAT(output_of_look({"the cat sat on the mat", "--target", "a", "--model",
                              test::tiny_translator(), "--stack", "encoder", "--format", "html"}),
              HasSubstr("<html"));
}

TEST(LookCross, HeadsSayWhetherTheyFollowTheSource) {
  const json found = json::parse(cross_as("json"));
  const json all = json::parse(output_of_look(
      {"the cat sat", "--target", "a mat", "--model", test::tiny_translator(), "--stack", "cross",
       "--layer", "0", "--head", "1", "--format", "json", "--top", "all"}));
  const auto rows = static_cast<double>(all["rows"].size());
  const double paired = std::min(rows, static_cast<double>(all["key_tokens"].size()));
  double peak = 0, in_order = 0;
  for (const json& row : all["rows"]) {
    peak += row["attends"][0]["weight"].get<double>() / rows;
    for (const json& key : row["attends"])
      if (key["key"] == row["query"]) in_order += key["weight"].get<double>() / paired;
  }
  int count = 0;
  for (const json& head : found["heads"]) {
    EXPECT_EQ(head.contains("order"), head["stack"] == "cross") << head;
    if (head["stack"] != "cross" || head["head"] != 1) continue;
    EXPECT_NEAR(head["order"]["peak"], peak, 1e-5);
    EXPECT_NEAR(head["order"]["in_order"], in_order, 1e-5);
    ++count;
  }
  EXPECT_EQ(count, 1);
}

TEST(LookSides, WithoutAModelTheBuiltInOneThatReadsTheTexts) {
  EXPECT_THAT(output_of_look({"The cat."}), testing::StartsWith("tales  Llama"));
  EXPECT_THAT(output_of_look({"The cat.", "--pair", "A cat."}), testing::StartsWith("masks  BERT"));
  EXPECT_THAT(output_of_look({"The [MASK]."}), testing::StartsWith("masks  BERT"));
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"A cat.", "--target", "猫"},
        {"A cat.", "--stack", "cross"},
        {"A cat.", "--view", "look/cross.L2.H1/i=0"}})
    EXPECT_THAT(output_of_look(asked), testing::StartsWith("enja  Marian, cross"));
  EXPECT_THAT(output_of_look({"A cat.", "--stack", "encoder"}),
              testing::StartsWith("enja  Marian, encoder"));
}

TEST(LookSides, APairAndATargetAreNotReadAtOnce) {
  EXPECT_EQ(test::heed({"look", "a", "--pair", "b", "--target", "c"}).error,
            "heed look: --pair and --target are both given, expected a pair for an encoder, or a "
            "target for an encoder-decoder\n");
}

TEST(LookCross, AWeightSaysWhatItsRowWrites) {
  const json tokens = json::parse(cross_as("json"))["tokens"];
  const std::string text = output_of_look({"the cat sat", "--target", "a mat", "--model",
                                           test::tiny_translator(), "--who", "0", "--to", "0"});
  EXPECT_THAT(text, HasSubstr(" 0 (writes " + std::string(tokens[1]["text"]) + ") -> "));
}

TEST(LookCross, TheTerminalSaysWhatEachRowWrites) {
  const std::string text = cross_as("text");
  const json tokens = json::parse(cross_as("json"))["tokens"];
  EXPECT_THAT(text, testing::ContainsRegex("  i  who +writes +to whom"));
  ASSERT_GE(tokens.size(), 2);
  const std::string row = text.substr(text.find("\n   0  ") + 1);
  const std::string who = tokens[0]["text"], writes = tokens[1]["text"];
  EXPECT_LT(row.find(writes, row.find(who) + who.size()), row.find("->"));
}

TEST(LookCross, TheTerminalSaysInOrderAndPeak) {
  const std::string text = cross_as("text");
  EXPECT_THAT(text, HasSubstr("Heads  in order: mean weight of token i on token i; peak: "));
  const std::string heads =
      text.substr(text.find("Heads "), text.find("Next") - text.find("Heads "));
  for (const char* score : {"prev", "sink", "where none"})
    EXPECT_THAT(heads, testing::Not(HasSubstr(score)));
  EXPECT_THAT(heads, testing::ContainsRegex("     0 +.?\\.[0-9][0-9] \\.[0-9][0-9]"));
}

TEST(LookCross, RankedHeadsBeginWithHowSharplyTheyLook) {
  const std::string text = output_of_look(
      {"the cat sat", "--target", "a mat", "--model", test::tiny_translator(), "--heads", "all"});
  EXPECT_THAT(text, HasSubstr("by confidence: mean of the largest weight of a row"));
  EXPECT_THAT(text, testing::ContainsRegex("head +peak +cover +cur +sink +"));
}

TEST(LookCross, UnitsAreOfOneText) {
  EXPECT_EQ(test::heed({"look", "the cat sat", "--target", "a mat", "--model",
                        test::tiny_translator(), "--units", "word"})
                .error,
            "heed look: --units is word, expected token: the rows and keys of cross-attention "
            "belong to two texts\n");
}

}  // namespace
}  // namespace heed::cli
