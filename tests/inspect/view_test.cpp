// The address of a view: what it says, and what it may not say.
#include "inspect/answers/view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "heed/error.h"
#include "heed/look.h"
#include "inspect/vectors.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using nlohmann::json;

json place_json(const ViewPlace& place) {
  json as = {{"layer", place.layer}, {"head", place.head}};
  if (place.stack) as["stack"] = std::string(stack_name(*place.stack));
  return as;
}

// Of names, each left out where it is as usual.
void add_choices(const ViewAddress& view, json& as) {
  for (const auto& [name, value, usual] : {std::tuple("units", &view.units, "token"),
                                           {"of", &view.quantity, "weight"},
                                           {"arcs", &view.arcs, "apart"},
                                           {"scale", &view.scale, "log"},
                                           {"line", &view.line, "surprise"},
                                           {"by", &view.by, "rollout"},
                                           {"sort", &view.sort, "number"},
                                           {"on", &view.on, "probe"},
                                           {"form", &view.form, "raw"},
                                           {"rotation", &view.rotation, "after"}})
    if (*value != usual) as[name] = *value;
}

json parsed_json(const ViewAddress& view) {
  json as = {{"view", view.view}, {"places", json::array()}};
  for (const ViewPlace& place : view.places) as["places"].push_back(place_json(place));
  if (view.query) as["i"] = *view.query;
  if (view.key) as["j"] = *view.key;
  if (view.range) as["range"] = {view.range->first, view.range->second};
  if (view.to) as["to"] = true;
  add_choices(view, as);
  if (!view.pair.empty()) as["pair"] = view.pair;
  if (!view.versus.empty()) as["vs"] = view.versus;
  if (view.show != "A-B") as["show"] = view.show;
  if (view.guide != 0) as["guide"] = view.guide;
  if (view.scores != ViewAddress().scores) as["scores"] = view.scores;
  if (view.temperature != 1) as["t"] = view.temperature;
  if (view.top_k != 0) as["k"] = view.top_k;
  if (view.top_p != 1) as["p"] = view.top_p;
  if (!view.filter.empty()) as["filter"] = view.filter;
  if (view.x != "previous") as["across"] = view.x;
  if (view.y != "without") as["up"] = view.y;
  for (const auto& [name, text] :
       {std::pair("m", &view.model), {"x", &view.text}, {"x2", &view.second}})
    if (!text->empty()) as[name] = *text;
  if (view.zoom) as["zoom"] = {view.zoom->first, view.zoom->second};
  return as;
}

TEST(View, WithoutAHeadIsTheFirstLayerThatHasAndKeepsAttention) {
  Session session;
  session.stacks.push_back({.shape = {.layers = 8, .heads = 4, .attending = {3, 7}}, .layers = {}});
  EXPECT_EQ(with_some_head(parse_view("look", ViewHeads::kOptional), session).places[0].layer, 3);
  session.keep.layers = {{4, 5, 6, 7}};
  EXPECT_EQ(with_some_head(parse_view("look", ViewHeads::kOptional), session).places[0].layer, 7);
  EXPECT_EQ(with_some_head(parse_view("look/L5.H1"), session).places[0].layer, 5);
}

TEST(View, ReadsAndWritesTheSharedVectors) {
  for (const json& vector : test::vectors("addresses")) {
    if (!vector.contains("parsed")) continue;
    const auto address = vector["address"].get<std::string>();
    const ViewAddress view = parse_view(address);
    EXPECT_EQ(parsed_json(view), vector["parsed"]) << address;
    EXPECT_EQ(format_view(view), vector.value("written", address)) << address;
  }
}

TEST(View, SaysOfTheSharedVectorsWhatIsWrong) {
  for (const json& vector : test::vectors("addresses")) {
    if (!vector.contains("error")) continue;
    const auto address = vector["address"].get<std::string>();
    try {
      parse_view(address);
      ADD_FAILURE() << address << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.found(), vector["error"]["found"].get<std::string>()) << address;
      EXPECT_EQ(error.expected(), vector["error"]["expected"].get<std::string>()) << address;
    }
  }
}

TEST(View, IsReadBehindItsSign) { EXPECT_EQ(parse_view("#look/L2.H4").places[0].layer, 2); }

TEST(View, MustFitTheModelAndTheText) {
  const auto check = [&](const char* address) {
    check_view(parse_view(address), "tiny", {{.layers = 2, .heads = 4, .causal = true}}, {10, 10});
  };
  constexpr ErrorCode kNone = ErrorCode::kNotFound;
  check("look/L1.H3/i=9/j=9");
  check("look/self.L1.H3+L0.H2");
  EXPECT_HEED_ERROR(check("look/L2.H0"), kNone,
                    "view: layer is 2, expected 0 to 1 (tiny has 2 layers)");
  EXPECT_HEED_ERROR(check("look/L1.H0+H4"), kNone,
                    "view: head is 4, expected 0 to 3 (tiny has 4 heads)");
  EXPECT_HEED_ERROR(check("look/cross.L1.H0"), kNone,
                    "view: stack is cross, expected self (tiny has no other)");
  EXPECT_HEED_ERROR(check("look/L1.H0/i=10"), kNone,
                    "view: i is 10, expected 0 to 9, a token of the text");
  EXPECT_HEED_ERROR(check("look/L1.H0/range=3-12"), kNone,
                    "view: range is 12, expected 0 to 9, a token of the text");
  check("matrix/L1.H0/zoom=0-9,3-9");
  EXPECT_HEED_ERROR(check("matrix/L1.H0/zoom=0-10,0-9"), kNone,
                    "view: zoom is 10, expected 0 to 9, a token of the text");
  check("grid/L1.H0/sort=sink/filter=prev>.1+layer+9");
  EXPECT_THROW(check("grid/L1.H0/sort=next"), Error);  // looks ahead, which no head can
  EXPECT_THROW(check("grid/L1.H0/filter=next>.1"), Error);
}

TEST(View, OfACrossAttentionCountsQueriesAndKeysApart) {
  const std::vector<StackShape> stacks = {
      {.stack = Stack::kEncoder, .layers = 1, .heads = 1, .causal = false},
      {.stack = Stack::kCross, .layers = 1, .heads = 1, .causal = false}};
  const auto check = [&](const char* address) {
    check_view(parse_view(address), "tiny", stacks, {3, 7});
  };
  check("look/cross.L0.H0/i=2/j=6");
  check("look/cross.L0.H0/i=6/to=1");
  EXPECT_HEED_ERROR(check("look/cross.L0.H0/i=6"), ErrorCode::kNotFound,
                    "view: i is 6, expected 0 to 2, a token of the text");
  EXPECT_HEED_ERROR(check("look/cross.L0.H0/i=2/j=7"), ErrorCode::kNotFound,
                    "view: j is 7, expected 0 to 6, a token of the text");
  EXPECT_HEED_ERROR(check("look/cross.L0.H0+encoder.L0.H0"), ErrorCode::kInvalidArgument,
                    "view: stack is encoder, expected cross, as of the first head");
}

TEST(View, MayNameTheScoresThatTheModelHas) {
  for (const bool causal : {true, false}) {
    const std::vector<StackShape> stacks = {{.layers = 1, .heads = 1, .causal = causal}};
    for (const ScoreInfo& info : score_infos()) {
      const ViewAddress view = parse_view(fmt::format("look/L0.H0/scores={}+sink", info.name));
      if ((causal && info.looks_ahead) || info.reads_source || info.of_images) {
        EXPECT_THROW(check_view(view, "tiny", stacks, {1, 1}), Error);
      } else {
        check_view(view, "tiny", stacks, {1, 1});
      }
    }
    const ViewAddress wrong = parse_view("look/L0.H0/scores=sink+nose");
    EXPECT_THROW(check_view(wrong, "tiny", stacks, {1, 1}), Error);
  }
}

}  // namespace
}  // namespace heed
