// One description with two readers: the JSON of an answer and the page's types.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/heads.h"
#include "support/answer_types.h"
#include "support/places.h"

namespace heed {
namespace {

using nlohmann::json;

struct Inner {
  static constexpr const char* kName = "Inner";
  int number = 3;
  std::vector<float> list = {0.1F, 2};
  template <typename Fields>
  void describe(Fields& field) const {
    field("number", number);
    field("list", list);
  }
};

struct Outer {
  static constexpr const char* kName = "Outer";
  std::string text = "a\"b\n\x01";
  std::optional<Inner> absent = {};
  Nullable<std::string> nothing = {};
  Masked masked = {{1, std::numeric_limits<float>::quiet_NaN()}};
  std::map<std::string, std::string> keys = {{"0", "x"}};
  bool yes = true;
  std::vector<Inner> inner = {{}, {}};
  template <typename Fields>
  void describe(Fields& field) const {
    field("text", text);
    field("absent", absent);
    field("nothing", nothing);
    field("masked", masked);
    field("keys", keys);
    field("yes", yes);
    field("inner", inner);
  }
};

TEST(AnswerWriter, WritesEveryKindOfFieldOnOneLine) {
  EXPECT_EQ(to_json(Outer()),
            "{\"text\":\"a\\\"b\\n\\u0001\",\"nothing\":null,\"masked\":[1,null],"
            "\"keys\":{\"0\":\"x\"},\"yes\":true,"
            "\"inner\":[{\"number\":3,\"list\":[0.1,2]},{\"number\":3,\"list\":[0.1,2]}]}");
}

TEST(AnswerWriter, ForPeopleHasALineForEachFieldAndItem) {
  AnswerWriter writer(JsonLayout::kLines);
  writer.write(Outer());
  EXPECT_EQ(writer.text(),
            "{\n  \"text\": \"a\\\"b\\n\\u0001\",\n  \"nothing\": null,\n"
            "  \"masked\": [\n    1,\n    null\n  ],\n  \"keys\": {\"0\": \"x\"},\n"
            "  \"yes\": true,\n  \"inner\": [\n    {\"number\": 3, \"list\": [0.1, 2]},\n"
            "    {\"number\": 3, \"list\": [0.1, 2]}\n  ]\n}\n");
}

TEST(JsonText, ShowsWhatIsNotUtf8AsBytes) {
  EXPECT_EQ(json_string("a\xe7"), "\"a<0xE7>\"");
  EXPECT_EQ(token_text("\xe7"), "<0xE7>");
  EXPECT_EQ(token_hex("\xe7\x8c"), "e78c");
  EXPECT_EQ(token_hex("\u732b"), std::nullopt);
}

TEST(AnswerWriter, HandsOverPiecesThatMakeTheWhole) {
  NextAnswer answer;
  for (int i = 0; i < 20000; ++i) answer.words.push_back({i, " word", 0.5F});
  std::string whole;
  int pieces = 0;
  AnswerWriter writer(JsonLayout::kLine, [&](std::string_view piece) {
    whole += piece;
    ++pieces;
  });
  writer.write(answer);
  EXPECT_EQ(whole, to_json(answer));
  EXPECT_GT(pieces, 3);
}

TEST(TypeWriter, DeclaresWhatAnAnswerNeedsBeforeIt) {
  TypeWriter types;
  types.declare<Outer>();
  EXPECT_EQ(types.text(),
            "export interface Inner {\n  number: number;\n  list: number[];\n}\n\n"
            "export interface Outer {\n  text: string;\n  absent?: Inner;\n"
            "  nothing: string | null;\n  masked: (number | null)[];\n"
            "  keys: Record<string, string>;\n  yes: boolean;\n  inner: Inner[];\n}\n\n");
}

// HEED_WRITE_TYPES=1 writes the file anew.
TEST(TypeWriter, ThePageHasTheTypesOfTheAnswersAsTheyAre) {
  const std::filesystem::path file = HEED_SOURCE_DIR "/web/src/answers.ts";
  if (std::getenv("HEED_WRITE_TYPES") != nullptr) std::ofstream(file) << answer_types();
  EXPECT_EQ(read_file(file), answer_types())
      << "an answer has changed: HEED_WRITE_TYPES=1 build/release/tests/inspect_tests "
         "--gtest_filter=TypeWriter.* writes web/src/answers.ts";
}

}  // namespace
}  // namespace heed
