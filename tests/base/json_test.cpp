// JSON as heed reads and writes it, compared with the library that parses it.
#include "base/formats/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "support/expect_error.h"

namespace heed {
namespace {

using testing::HasSubstr;
using Peer = nlohmann::ordered_json;

JsonText parsed(const std::string& text) { return JsonText::parse(text, {.file = "a.json"}); }

void expect_refused(const std::string& text, const std::string& message) {
  EXPECT_HEED_ERROR(parsed(text), ErrorCode::kCorrupt, message);
}

TEST(Json, ReadsEveryKindOfValue) {
  const JsonText text = parsed(R"({"none": null, "flag": true, "count": -3, "rate": 1e-5, )"
                               R"("name": "\u00e9\n", "list": [1, 2]})");
  const Json& root = text.root();
  EXPECT_TRUE(root["none"].is_null());
  EXPECT_EQ(root["flag"].as_flag(), true);
  EXPECT_EQ(root["count"].as_integer(), -3);
  EXPECT_EQ(root["rate"].as_number(), 1e-5);
  EXPECT_EQ(*root["name"].as_text(), "\u00e9\n");
  ASSERT_EQ(root["list"].items().size(), 2U);
  EXPECT_EQ(root["list"].items()[1].as_number(), 2.0);
}

TEST(Json, AValueOfAnotherKindIsNone) {
  const Json text = "3";
  EXPECT_FALSE(text.as_integer() || text.as_number() || text.as_flag());
  EXPECT_TRUE(text.items().empty() && text.members().empty() && text["x"].is_null());
  EXPECT_FALSE(Json(3.0).as_integer());
  EXPECT_FALSE(Json(1).as_flag());
  EXPECT_FALSE(Json(UINT64_MAX).as_integer() || Json(-1).as_unsigned());
  EXPECT_EQ(Json(UINT64_MAX).as_unsigned(), UINT64_MAX);
  EXPECT_EQ(Json(UINT64_MAX).dump(), "18446744073709551615");
}

TEST(Json, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(parsed(R"({"a": 1, "b": 2, "a": 3, "c": 4, "a": 5})").root().dump(),
            R"({"a":5,"b":2,"c":4})");
}

TEST(Json, EqualKeysAreRefusedWhereEachIsToBeUnique) {
  const auto strict = [](const char* text) {
    return JsonText::parse(text, {.file = "a.json", .unique_keys = true});
  };
  EXPECT_EQ(strict(R"({"a": {"b": 1}, "b": [{"a": 2}, {"a": 3}]})").root()["a"]["b"].as_integer(),
            1);
  EXPECT_HEED_ERROR(strict("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": [2]}}"), ErrorCode::kCorrupt,
                    "a.json: line 2, column 21: c is given twice, expected once");
}

TEST(Json, TellsWhereAValueBegins) {
  const JsonText text =
      parsed("{\"\u00e9\": [1, -2.5e3],\n  \"b\": \"x\\\\\\\"y\", \"c\": {\"d\": true}}");
  const Json& root = text.root();
  EXPECT_EQ(text.place(root), "line 1, column 1");
  EXPECT_EQ(text.place(root["\u00e9"]), "line 1, column 7");
  EXPECT_EQ(text.place(root["\u00e9"].items()[0]), "line 1, column 8");
  EXPECT_EQ(text.place(root["\u00e9"].items()[1]), "line 1, column 11");
  EXPECT_EQ(text.place(root["b"]), "line 2, column 8");
  EXPECT_EQ(text.place(root["c"]), "line 2, column 23");
  EXPECT_EQ(text.place(root["c"]["d"]), "line 2, column 29");
  EXPECT_EQ(text.place(Json(3)), "");  // not from a text
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsPlace) {
  expect_refused("", "a.json: line 1, column 1: not JSON: ends too early");
  expect_refused("{\n \"a\": [1,", "a.json: line 2, column 10: not JSON: ends too early");
  expect_refused("{\n \"a\": 01}", "a.json: line 2, column 7: not JSON: unexpected 01");
  expect_refused("{\"a\" \"bc\"}", "a.json: line 1, column 6: not JSON: unexpected \"bc\"");
  expect_refused("[1] x", "a.json: line 1, column 5: not JSON: unexpected x");
  expect_refused("[1,]", "a.json: line 1, column 4: not JSON: unexpected ]");
  expect_refused("[\"a\xff\"]", "a.json: line 1, column 4: not JSON: unexpected byte 0xff");
  expect_refused("[\"a\nb\"]", "a.json: line 1, column 4: not JSON: unexpected byte 0x0a");
}

TEST(Json, ANumberBeyondDoubleIsRefusedWithItsPlace) {
  expect_refused("{\n  \"n\": 1e400}",
                 "a.json: line 2, column 8: the number 1e400 is beyond all that f64 holds");
  expect_refused("[-2e999]",
                 "a.json: line 1, column 2: the number -2e999 is beyond all that f64 holds");
  EXPECT_EQ(parsed("[1e-400]").root().items()[0].as_number(), 0.0);
}

TEST(Json, DeepNestingIsRefusedWithItsPlace) {
  const std::string deep(128, '[');
  EXPECT_NO_THROW(parsed(deep + std::string(128, ']')));
  expect_refused(deep + "[", "a.json: line 1, column 129: nested deeper than 128 levels");
  expect_refused(std::string(1'000'000, '['),
                 "a.json: line 1, column 129: nested deeper than 128 levels");
}

TEST(Json, PartsOfOtherFilesTellBytes) {
  EXPECT_HEED_ERROR(JsonText::parse("{\"w\":}", {.file = "x.safetensors", .byte = 8}),
                    ErrorCode::kCorrupt, "x.safetensors: byte 13: not JSON: unexpected }");
}

TEST(Json, IsBuiltLikeItReads) {
  const Json built = {{"type", "Split"},
                      {"pattern", {{"Regex", "[\\s\\S]"}}},
                      {"pairs", {{"a", "b"}, {"c", "d"}}},
                      {"none", std::optional<double>()},
                      {"list", Json::array({1, "x", Json::array({})})},
                      {"texts", std::vector<std::string>{"y", "z"}},
                      {"rate", 0.5F},
                      {"flag", false}};
  EXPECT_EQ(built.dump(),
            R"({"type":"Split","pattern":{"Regex":"[\\s\\S]"},"pairs":{"a":"b","c":"d"},)"
            R"("none":null,"list":[1,"x",[]],"texts":["y","z"],"rate":0.5,"flag":false})");
  EXPECT_EQ(parsed(built.dump()).root(), built);
}

TEST(Json, SetKeepsThePlaceOfAMember) {
  Json json = {{"a", 1}, {"b", 2}};
  json.set("a", "new");
  json.set("c", 3);
  EXPECT_EQ(json.dump(), R"({"a":"new","b":2,"c":3})");
}

TEST(Json, NumbersAreEqualByValueAndObjectsInAnyOrder) {
  EXPECT_EQ(Json(0), Json(0.0));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json(0), Json());
  EXPECT_EQ((Json{{"a", 1}, {"b", 2}}), (Json{{"b", 2.0}, {"a", 1}}));
  EXPECT_NE((Json{{"a", 1}}), (Json{{"a", 1}, {"b", 2}}));
  EXPECT_NE(Json::array({1, 2}), Json::array({2, 1}));
}

TEST(Json, WritesWhatTheLibraryWrites) {
  const std::string text = R"({"a":[],"b":{},"c":[1,-2,0.1,1e-5,1e22,1.0,123456789012345680.0],)"
                           R"("d":[{"e":"\u0001\"\\/é"},null]})";
  for (const int indent : {-1, 0, 1, 2})
    EXPECT_EQ(parsed(text).root().dump(indent), Peer::parse(text).dump(indent));
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(-HUGE_VAL).dump(), "null");
}

TEST(Json, WritesUtf8WhateverItIsGiven) { EXPECT_EQ(Json("a\xff").dump(), "\"a\uFFFD\""); }

TEST(Json, MessagesShowTheBeginningOfALongValue) {
  EXPECT_EQ(Json("short").brief(), "\"short\"");
  const std::string brief = Json(std::string(58, 'x') + "\u00e9" + std::string(100, 'y')).brief();
  EXPECT_EQ(brief, fmt::format("\"{}...", std::string(58, 'x')));
}

// Texts with a few bytes changed: the library and heed accept the same ones, with the same value,
// and the others only cause an Error.
TEST(Json, TakesWhatTheLibraryTakes) {
  const std::string whole =
      R"({"model":{"vocab":{"a":0,"\u00e9":1e2,"b":-1.5e-3},"merges":[["a","b"],"c d"]},)"
      R"("x":[true,null]} )";
  std::mt19937 random(7);
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (std::size_t edit = 0, edits = 1 + random() % 3; edit < edits; ++edit) {
      const std::size_t at = random() % text.size();
      constexpr std::string_view kBytes = "{}[],:\"\\0123456789eE+-.tfn \n\xc3\xa9\xff";
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 4);
      else
        text[at] = kBytes[random() % kBytes.size()];
    }
    const Peer peer = Peer::parse(text, nullptr, /*allow_exceptions=*/false);
    if (peer.is_discarded()) {
      EXPECT_THROW(parsed(text), Error) << text;
    } else {
      ++taken;
      EXPECT_EQ(parsed(text).root().dump(), peer.dump()) << text;
    }
  }
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace heed
