// The numbers of the design's terminal picture (stories260k, layer 2, head 6), laid out as there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/look/text.h"

namespace heed::cli {
namespace {

struct Row {
  std::int64_t query;
  std::vector<LookKey> attends;
  std::int64_t rest_count;
  double rest;
};

HeadScores one_score(int layer, int head, std::string_view name, double value) {
  HeadScores scores{.place = {.layer = layer, .head = head}, .values = {}};
  for (const ScoreInfo& info : score_infos())
    scores.values.push_back(info.name == name ? value : 0);
  return scores;
}

void give_heads(Look& look) {
  for (int layer = 0; layer < 5; ++layer)
    for (int head = 0; head < 8; ++head)
      look.heads.push_back(one_score(layer, head, "previous", .36));
  look.heads[3] = one_score(0, 3, "sink", .52);
  look.heads[12] = one_score(1, 4, "current", .15);
  look.heads[22] = one_score(2, 6, "sink", .26);
}

Look picture() {
  Look look;
  look.model = "stories260k";
  look.built_in = true;
  look.info.title = "Llama";
  look.info.layers = 5;
  look.info.heads = 8;
  look.info.kv_heads = 4;
  for (const char* word :
       {"<s>", " Lily", " saw", " a", " big", " r", "ed", " b", "all", ".", " She"})
    look.tokens.push_back({.id = 0, .bytes = word});
  look.chosen.layer = 2;
  look.chosen.head = 6;
  const Row rows[] = {{0, {{0, 1.0F}}, 0, 0},
                      {1, {{0, .60F}, {1, .40F}}, 0, 0},
                      {2, {{0, .54F}, {1, .40F}, {2, .06F}}, 0, 0},
                      {3, {{0, .41F}, {2, .31F}, {1, .14F}}, 1, .14},
                      {10, {{1, .40F}, {0, .29F}, {9, .13F}}, 8, .18}};
  for (const Row& row : rows)
    look.rows.push_back({row.query, 0, row.attends, row.rest_count, row.rest});
  give_heads(look);
  look.next.words = {{0, " was", .326}, {0, " want", .274}};
  look.next.rest_count = 506;
  look.next.rest_probability = .19;
  return look;
}

constexpr const char* kPicture = R"(stories260k  Llama, 5 layers x 8 heads on 4 kv, built in)"
                                 R"(                                   11 tokens

Who attends to whom  L2.H6; the three largest, then the rest
   i  who      to whom                                                                          rest
   0  <s>   -> <s>   1.00 ━━━━━━━━━━━━
   1  Lily  -> <s>   .600 ━━━━━━━      Lily  .400 ━━━━━
   2  saw   -> <s>   .540 ━━━━━━╸      Lily  .400 ━━━━━        saw   .060 ╸
   3  a     -> <s>   .410 ━━━━━        saw   .310 ━━━╸         Lily  .140 ━╸              +.140 in 1
  10  She   -> Lily  .400 ━━━━━        <s>   .290 ━━━╸         .     .130 ━╸              +.180 in 8

Heads  largest score of each, mean over rows; -: no score reaches 0.2; [ ] chosen
 layer   H0         H1         H2         H3         H4         H5         H6         H7
     0   prev  .36  prev  .36  prev  .36  sink  .52  prev  .36  prev  .36  prev  .36  prev  .36
     1   prev  .36  prev  .36  prev  .36  prev  .36  -     .15  prev  .36  prev  .36  prev  .36
     2   prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36 [sink  .26] prev  .36
     3   prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36
     4   prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36  prev  .36

Next word  after "She"
      was       .326 ━━━━━━━━━━━━━━━━━━━━━━━━━━
      want      .274 ━━━━━━━━━━━━━━━━━━━━━╸
      +.190 in 506 others
)";

TEST(TokenNames, APieceOfAWordIsMarkedInTheWord) {
  const TokenNames names({.width = 100}, picture());
  EXPECT_EQ(names.query(1), "Lily");
  EXPECT_EQ(names.query(6), "r[ed]");
  EXPECT_EQ(names.key(7), "[b]all");
  EXPECT_EQ(names.quoted_key(8), "b[all]");
}

TEST(LookText, HasTheColumnsOfThePicture) { EXPECT_EQ(look_text({}, picture(), {}), kPicture); }

TEST(LookText, WithoutUtf8BarsAreEqualSignsAndHyphens) {
  EXPECT_THAT(look_text({.utf8 = false}, picture(), {}),
              testing::HasSubstr("  2  saw   -> <s>   .540 ======-      Lily  .400 =====        saw"
                                 "   .060 -\n"));
}

TEST(LookText, ColourMarksWeightsBarsAndTheChosenHead) {
  const std::string text = look_text({.bold = true, .colour = true}, picture(), {});
  EXPECT_THAT(text, testing::HasSubstr("\x1b[7msink  .26\x1b[0m"));
  EXPECT_THAT(text, testing::HasSubstr("\x1b[1mLily\x1b[0m"));
  EXPECT_THAT(text, testing::HasSubstr("\x1b[94m━╸\x1b[0m"));
  EXPECT_THAT(text, testing::HasSubstr("\x1b[90m+.140 in 1\x1b[0m"));
}

TEST(LookText, NoColourOnATerminalKeepsBoldOnly) {
  const std::string text = look_text({.bold = true}, picture(), {});
  EXPECT_THAT(text, testing::HasSubstr("\x1b[1mWho attends to whom\x1b[0m"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\x1b[9")));
  EXPECT_THAT(text, testing::HasSubstr("[sink  .26]"));
}

TEST(LookText, NoLineIsWiderThanTheTerminal) {
  Look one = picture(), all = picture(), hidden = picture(), column = picture();
  const LookCell cell = {.query = 10,
                         .key = 1,
                         .visible = true,
                         .weight = .403,
                         .score = 10.21,
                         .lse = 11.12,
                         .rank = 1,
                         .of = 11,
                         .others = {{0, .288F}, {9, .131F}}};
  one.cells = {cell};
  all.cells = {cell, cell, cell};
  hidden.cells = {{.query = 1, .key = 10}};
  column.columns = {{.key = 1, .sum = 2.5, .from = {{10, .4F}, {2, .3F}}, .rest_count = 3}};
  for (const int width : {16, 24, 30, 41, 59, 60, 73, 80, 100, 140}) {
    const Terminal terminal = {.width = width, .utf8 = false};
    std::string text = look_text(terminal, picture(), {});
    if (width < 60) {
      for (const Look* look : {&one, &all, &hidden})
        text += cells_text(terminal, *look, {.who = "She", .to = "Lily"});
      text += columns_text(terminal, column);
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(static_cast<int>(line.size()), width) << line;
  }
}

TEST(LookText, ANarrowTerminalLosesNoWord) {
  Look one = picture();
  one.cells = {{.query = 10,
                .key = 9,
                .visible = true,
                .weight = .1,
                .rank = 3,
                .of = 11,
                .others = {{0, .288F}, {1, .131F}}}};
  EXPECT_EQ(cells_text({.width = 30}, one, {.who = "She", .to = "."}),
            "She 10 -> \".\" 9     0.100\n"
            "  3rd largest of 11, after <s>\n"
            "  0.288, Lily 0.131\n"
            "  score   0.0000\n"
            "  weight  e^(0.0000 - 0.0000)\n"
            "       =  0.100\n");
}

TEST(LookText, LargerWeightsThatAreNotNamedAreDots) {
  Look one = picture();
  one.cells = {{.query = 10,
                .key = 9,
                .visible = true,
                .weight = .05,
                .rank = 5,
                .of = 11,
                .others = {{0, .288F}, {1, .131F}}}};
  EXPECT_THAT(cells_text({.utf8 = true}, one, {.who = "She", .to = "."}),
              testing::HasSubstr("5th largest of 11, after <s> 0.288, Lily 0.131, …\n"));
}

TEST(LookText, ATokenThatOccursTwiceCarriesItsIndex) {
  Look look = picture();
  look.tokens[9].bytes = " Lily";
  EXPECT_THAT(look_text({}, look, {}), testing::HasSubstr("10  She   -> Lily 1  .400"));
}

TEST(LookText, WideScriptsLineUp) {
  Look look = picture();
  look.tokens[1].bytes = "猫猫";  // four cells, as "Lily"
  EXPECT_THAT(look_text({}, look, {}), testing::HasSubstr("   1  猫猫  -> <s>   .600 ━━━━━━━      "
                                                          "猫猫  .400 ━━━━━\n"));
}

TEST(LookText, ATextThatTheVocabularyHardlyKnowsIsSaidSo) {
  const std::string note =
      "most tokens are single bytes: this model's vocabulary lacks most characters of this "
      "text\n\nWho attends";
  EXPECT_THAT(look_text({}, picture(), {}), testing::Not(testing::HasSubstr("single bytes")));
  Look look = picture();
  for (SessionToken& token : look.tokens) token.bytes = "\xe7";
  EXPECT_THAT(look_text({}, look, {}), testing::HasSubstr("tokens\n" + note));
}

TEST(LookText, NarrowColumnsUseLettersAndALegend) {
  Look look = picture();
  look.info.heads = 12;
  look.heads.resize(12);
  const std::string text = heads_text({}, look);
  EXPECT_THAT(text, testing::HasSubstr("Heads  p previous  s sink; -: no score"));
  EXPECT_THAT(text, testing::HasSubstr(
                        " layer  H0     H1     H2     H3     H4     H5     H6     H7     H8"));
  EXPECT_THAT(text, testing::HasSubstr("     0  p .36  p .36  p .36  s .52"));
}

TEST(LookText, AModelWithoutWordsSaysSo) {
  Look look = picture();
  look.next = {};
  look.info.vocabulary = 512;
  EXPECT_THAT(look_text({}, look, {}),
              testing::EndsWith("Next word  none: this model writes no text\n"));
  look.info.vocabulary = 0;  // of arrays
  EXPECT_THAT(look_text({}, look, {}),
              testing::EndsWith("Next word  unknown: the session has only attention\n"));
}

TEST(LookText, ARowIsMarkedAndExplainedWhereHeedChoseIt) {
  Look look = picture();
  EXPECT_THAT(rows_text({}, look, {}), testing::Not(testing::HasSubstr(">Lily")));
  look.chosen.automatic = true;
  look.chosen.query = 1;
  look.chosen.reason = "`Lily` looks back";
  look.hidden_rows = 6;
  const std::string text = rows_text({}, look, {.all_rows = "all"});
  EXPECT_THAT(text, testing::HasSubstr("  heed chose this head: `Lily` looks back\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n  the last 5 of 11 rows; all\n"));
  EXPECT_THAT(text, testing::HasSubstr("\n   1 >Lily  -> <s>"));
  look.rows.pop_back();
  EXPECT_THAT(rows_text({}, look, {.all_rows = "all"}),
              testing::HasSubstr("\n  rows 0 to 3 of 10 rows; all\n"));
}

TEST(LookText, OneCellShowsRankScoreAndWeight) {
  Look look = picture();
  look.cells = {{.query = 10,
                 .key = 1,
                 .visible = true,
                 .weight = .403,
                 .score = 10.21,
                 .lse = 11.12,
                 .rank = 1,
                 .of = 11,
                 .others = {{0, .288F}, {9, .131F}}}};
  EXPECT_EQ(cells_text({}, look, {.who = "She", .to = "Lily"}),
            "She 10 -> Lily 1     0.403   largest of 11, then <s> 0.288, \".\" 0.131\n"
            "  score   10.2100\n"
            "  weight  e^(10.2100 - 11.1200)  =  0.403\n");
}

TEST(LookText, AWordThatStandsTwiceShowsEveryPair) {
  Look look = picture();
  look.chosen = {};
  look.chosen.head = 8;
  look.tokens[2].bytes = look.tokens[8].bytes = " flies";
  for (const auto& [query, key, weight, rank] :
       {std::tuple{2, 2, .10, 3}, {2, 8, .14, 2}, {8, 2, .06, 5}, {8, 8, .08, 3}})
    look.cells.push_back(
        {.query = query, .key = key, .visible = true, .weight = weight, .rank = rank, .of = 13});
  EXPECT_EQ(cells_text({}, look, {.who = "flies", .to = "flies"}),
            R"("flies" is at 2 and 8. All four, L0.H8:
      flies 2  -> flies 2    .100 ━━━━━                                            3rd largest of 13
      flies 2  -> flies 8    .140 ━━━━━━╸                                          2nd largest of 13
      flies 8  -> flies 2    .060 ━━━                                              5th largest of 13
      flies 8  -> flies 8    .080 ━━━━                                             3rd largest of 13
)");
}

}  // namespace
}  // namespace heed::cli
