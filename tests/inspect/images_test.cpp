// Images among the tokens of a session, and the scores of heads that look at them.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heed/look.h"
#include "heed/mask.h"
#include "heed/session.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/questions.h"
#include "inspect/session/visible_keys.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using nlohmann::json;
using test::random_tensor;

const std::string kPng = "\x89PNG\r\n\x1a\n and the rest";

// Two words, an image of 2 x 3 whose last cell has no token, a word.
struct Picture {
  Tensor q = random_tensor({1, 2, 8, 4}, 1);
  Tensor k = random_tensor({1, 2, 8, 4}, 2);
  SessionImage image = {
      .of_keys = true, .rows = 2, .columns = 3, .tokens = {2, 3, 4, 5, 6, -1}, .picture = kPng};
  std::vector<std::string> names = {"a", " b", "?", "?", "?", "?", "?", " c"};

  SessionArrays arrays() const {
    const LayerArrays layer = {.args = {.q = q, .keys = {.k = k, .v = k}}};
    return {.tokens = names, .stacks = {{Stack::kSelf, {layer}}}, .images = {image}};
  }
};

TEST(Images, NameTheirTokensByCells) {
  const Session session = open_session(Picture().arrays());
  EXPECT_EQ(session.tokens[1].bytes, " b");
  EXPECT_EQ(session.tokens[2].bytes, " im0 r0 c0");
  EXPECT_EQ(session.tokens[6].bytes, " im0 r1 c1");
  EXPECT_TRUE(session.tokens[6].of_image);
  EXPECT_FALSE(session.tokens[7].of_image);
  EXPECT_EQ(session.images[0].name, "image 0");
}

TEST(Images, AreNotInTheTextThatTheTokensSpell) {
  const Session session = open_session(Picture().arrays());
  EXPECT_EQ(session.tokens[1].begin, 1);
  EXPECT_EQ(session.tokens[1].end, 3);
  EXPECT_EQ(session.tokens[4].begin, 3);
  EXPECT_EQ(session.tokens[4].end, 3);
  EXPECT_EQ(session.tokens[7].begin, 3);
  EXPECT_EQ(session.tokens[7].end, 5);
}

TEST(Images, OfOneRowNameColumnsAlone) {
  Picture picture;
  picture.image = {.of_keys = true, .rows = 1, .columns = 2, .tokens = {3, 4}, .name = "sound"};
  const Session session = open_session(picture.arrays());
  EXPECT_EQ(session.tokens[4].bytes, " im0 c1");
  EXPECT_EQ(session.images[0].name, "sound");
}

TEST(Images, AreOfQueriesAndKeysWhereTheseAreTheSame) {
  const Session session = open_session(Picture().arrays());
  EXPECT_TRUE(session.images[0].of_queries);
  EXPECT_TRUE(session.images[0].of_keys);
}

TEST(Images, OfACrossAttentionAreOfTheListThatTheyName) {
  const Picture picture;
  const Tensor q = random_tensor({1, 2, 3, 4}, 3);
  SessionArrays arrays = picture.arrays();
  arrays.tokens = {"x", " y", " z"};
  arrays.stacks = {{Stack::kCross, {{.args = {.q = q, .keys = {.k = picture.k, .v = picture.k}}}}}};
  const Session session = open_session(arrays);
  EXPECT_EQ(session.tokens[2].bytes, " z");
  EXPECT_EQ(session.key_tokens[2].bytes, " im0 r0 c0");
  EXPECT_FALSE(session.images[0].of_queries);
  EXPECT_TRUE(session.at(Stack::kCross).shape.has_images);
  arrays.images[0].of_queries = true;
  EXPECT_HEED_ERROR(open_session(arrays), ErrorCode::kInvalidArgument,
                    "session: images[0].tokens[1] is 3, expected -1, or 0 to 2");
}

TEST(Images, AreRefusedByName) {
  struct Case {
    SessionImage image;
    const char* message;
  };
  const SessionImage good = Picture().image;
  std::vector<Case> cases(7, {good, ""});
  cases[0].image.rows = 0;
  cases[0].message = "session: images[0].rows is 0, expected at least 1";
  cases[1].image.columns = 2;
  cases[1].message = "session: images[0].tokens is a list of 6, expected 2 x 2, one per cell";
  cases[2].image.tokens[3] = 8;
  cases[2].message = "session: images[0].tokens[3] is 8, expected -1, or 0 to 7";
  cases[3].image.tokens[3] = -2;
  cases[3].message = "session: images[0].tokens[3] is -2, expected -1, or 0 to 7";
  cases[4].image.tokens[3] = 2;
  cases[4].message =
      "session: images[0].tokens[3] is 2, expected a token of no other cell: im0 r0 c0 has it";
  cases[5].image.picture = "GIF89a";
  cases[5].message =
      "session: images[0].picture is 6 bytes of another format, expected a PNG or JPEG";
  cases[6].image.of_keys = false;
  cases[6].message = "session: images[0].of is not given, expected the queries, the keys, or both";
  for (const Case& each : cases) {
    SessionArrays arrays = Picture().arrays();
    arrays.images = {each.image};
    EXPECT_HEED_ERROR(open_session(arrays), ErrorCode::kInvalidArgument, each.message);
  }
}

TEST(Images, AreAtMost64AndShareNoToken) {
  SessionArrays arrays = Picture().arrays();
  arrays.images.push_back(arrays.images[0]);
  EXPECT_HEED_ERROR(
      open_session(arrays), ErrorCode::kInvalidArgument,
      "session: images[1].tokens[0] is 2, expected a token of no other cell: im0 r0 c0 has it");
  arrays.images.assign(65, arrays.images[0]);
  EXPECT_HEED_ERROR(open_session(arrays), ErrorCode::kInvalidArgument,
                    "session: images is a list of 65, expected at most 64");
}

TEST(Images, HaveCellsThatAreEachAWordAndASentence) {
  const Session session = open_session(Picture().arrays());
  const TokenUnits units = token_units(session.tokens, nullptr);
  EXPECT_EQ(units.words, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(units.sentences, (std::vector<std::int64_t>{0, 2, 3, 4, 5, 6, 7}));
}

TEST(Images, StandInTheAnswerOfASession) {
  const Session session = open_session(Picture().arrays());
  const LiveSession live("pictures", {}, shared(session));
  const json answer = json::parse(to_json(answer_session(live)));
  ASSERT_EQ(answer["images"].size(), 1);
  const json& image = answer["images"][0];
  EXPECT_EQ(image["tokens"], (std::vector<int>{2, 3, 4, 5, 6, -1}));
  EXPECT_EQ(image["picture"], "data:image/png;base64,iVBORw0KGgogYW5kIHRoZSByZXN0");
  EXPECT_EQ(image["name"], "image 0");
  EXPECT_EQ(image["of_queries"], true);
  EXPECT_EQ(image["rows"], 2);
  EXPECT_EQ(answer["tokens"][2]["text"], " im0 r0 c0");
  SessionArrays without = Picture().arrays();
  without.images[0].picture = {};
  const LiveSession bare("pictures", {}, open_session(without));
  EXPECT_FALSE(json::parse(to_json(answer_session(bare)))["images"][0].contains("picture"));
  without.images = {};
  const LiveSession none("pictures", {}, open_session(without));
  EXPECT_FALSE(json::parse(to_json(answer_session(none))).contains("images"));
}

// What a row says of the cells [begin, 8), of whom only those that `session` calls cells count.
struct PlainRow {
  double mass = 0, spread = 0;
  bool sees = false;
};

PlainRow plain_row(const Session& session, const std::vector<float>& weights, std::int64_t query,
                   std::size_t begin) {
  double mass = 0, entropy = 0;
  int cells = 0;
  const auto is_cell = [&](std::size_t key) { return session.tokens[key].of_image; };
  const auto end = static_cast<std::size_t>(query) + 1;  // causal
  for (std::size_t key = begin; key < end; ++key) {
    if (!is_cell(key)) continue;
    mass += weights[key];
    ++cells;
  }
  for (std::size_t key = begin; key < end; ++key)
    if (is_cell(key)) entropy -= weights[key] / mass * std::log(weights[key] / mass);
  return {mass, cells > 0 ? std::exp(entropy) / cells : 0, cells > 0};
}

struct PlainScores {
  double mass = 0, spread = 0, adjusted_mass = 0, adjusted_spread = 0;
};

PlainScores plain_scores(const Session& session, int head, bool are_cells) {
  PlainScores sum;
  int rows = 0;
  double left = 0;
  const LayerAttention& layer = session.at(Place{});
  visit_rows(layer, head, [&](std::int64_t, std::int64_t query, std::span<const float> row) {
    if (session.tokens[static_cast<std::size_t>(query)].of_image && !are_cells) return;
    const std::vector<float> weights(row.begin(), row.end());
    const PlainRow all = plain_row(session, weights, query, 0);
    const PlainRow rest = plain_row(session, weights, query, 1);
    if (all.sees) {
      sum.mass += all.mass;
      sum.spread += all.spread;
      ++rows;
    }
    if (!rest.sees) return;
    const double kept = 1 - static_cast<double>(weights[0]);
    sum.adjusted_mass += rest.mass;
    sum.adjusted_spread += rest.spread * kept;
    left += kept;
  });
  return {sum.mass / rows, sum.spread / rows, sum.adjusted_mass / left, sum.adjusted_spread / left};
}

double adjusted(const HeadScores& head, std::string_view name) {
  for (std::size_t i = 0; i < score_infos().size(); ++i)
    if (score_infos()[i].name == name) return head.adjusted[i];
  return -1;
}

void expect_plain_scores(const Session& session, bool are_cells) {
  const std::vector<HeadScores> scores = score_heads(session);
  for (int head = 0; head < 2; ++head) {
    const PlainScores plain = plain_scores(session, head, are_cells);
    const HeadScores& found = scores.at(static_cast<std::size_t>(head));
    EXPECT_NEAR(found.of("image"), plain.mass, 1e-5);
    EXPECT_NEAR(found.of("image_spread"), plain.spread, 1e-5);
    EXPECT_NEAR(adjusted(found, "image"), plain.adjusted_mass, 1e-5);
    EXPECT_NEAR(adjusted(found, "image_spread"), plain.adjusted_spread, 1e-5);
  }
}

SessionArrays causal(SessionArrays arrays) {
  arrays.stacks[0].layers[0].args.mask = Mask::causal();
  return arrays;
}

TEST(ImageScores, AreThoseOfPlainLoopsOverTokensOutsideOfTheImage) {
  expect_plain_scores(open_session(causal(Picture().arrays())), false);
}

TEST(ImageScores, OfAnImageThatBeginsWithTheFirstToken) {
  Picture picture;
  picture.image.tokens = {0, 1, 2, 3, -1, 5};
  expect_plain_scores(open_session(causal(picture.arrays())), false);
}

TEST(ImageScores, WhereAllTokensAreCellsAreOfEveryRow) {
  Picture picture;
  picture.image.columns = 4;
  picture.image.tokens = {0, 1, 2, 3, 4, 5, 6, 7};
  expect_plain_scores(open_session(causal(picture.arrays())), true);
}

TEST(ImageScores, AreAbsentWithoutImages) {
  SessionArrays arrays = Picture().arrays();
  const auto names = [](const Session& session) {
    std::string text;
    for (const ScoreAnswer& score : answer_scores(session.shapes()))
      text += std::string(score.info.name) + " ";
    return text;
  };
  EXPECT_NE(names(open_session(arrays)).find("image image_spread"), std::string::npos);
  arrays.images = {};
  const Session session = open_session(arrays);
  EXPECT_TRUE(std::isnan(score_heads(session)[0].of("image")));
  EXPECT_EQ(names(session).find("image"), std::string::npos);
}

}  // namespace
}  // namespace heed
