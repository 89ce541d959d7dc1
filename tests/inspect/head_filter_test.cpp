// Filters of heads: the grammar that page and command line share, and which heads pass.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "heed/error.h"
#include "heed/look.h"
#include "inspect/vectors.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using nlohmann::json;
using FilterTerm = HeadFilter::Term;

json term_json(const FilterTerm& term) {
  constexpr const char* kTests[] = {">", ">=", "<", "<=", "in"};
  json as = {
      {"name", term.name}, {"test", kTests[static_cast<int>(term.test)]}, {"first", term.first}};
  if (term.test == FilterTerm::Test::kWithin) as["last"] = term.last;
  return as;
}

TEST(HeadFilter, ReadsTheSharedVectors) {
  for (const json& vector : test::vectors("filters")) {
    if (!vector.contains("terms")) continue;
    const auto text = vector["filter"].get<std::string>();
    json terms = json::array();
    for (const FilterTerm& term : parse_head_filter(text).terms) terms.push_back(term_json(term));
    EXPECT_EQ(terms, vector["terms"]) << text;
  }
}

TEST(HeadFilter, SaysOfTheSharedVectorsWhatIsWrongAndWhere) {
  for (const json& vector : test::vectors("filters")) {
    if (!vector.contains("error")) continue;
    const auto text = vector["filter"].get<std::string>();
    const json& wrong = vector["error"];
    try {
      parse_head_filter(text);
      ADD_FAILURE() << text << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.found(), fmt::format("{} at character {}", wrong["found"].get<std::string>(),
                                           wrong["at"].get<int>()));
      EXPECT_EQ(error.expected(), wrong["expected"].get<std::string>()) << text;
    }
  }
}

HeadScores head_of(int layer, int head, double previous, double sink) {
  HeadScores scores{.place = {Stack::kSelf, layer, head},
                    .values = std::vector<double>(score_infos().size())};
  for (std::size_t at = 0; at < score_infos().size(); ++at) {
    if (score_infos()[at].name == "previous") scores.values[at] = previous;
    if (score_infos()[at].name == "sink") scores.values[at] = sink;
  }
  return scores;
}

TEST(HeadFilter, HoldsForAHeadWhereAllOfItsTermsDo) {
  const HeadScores head = head_of(4, 2, 0.5, 0.25);
  const auto holds = [&](const char* filter) { return parse_head_filter(filter).holds(head); };
  for (const char* filter :
       {"", "previous>0.4", "prev>0.4", "previous>=0.5", "previous<=0.5 sink<.3", "layer 4",
        "layer 2-4 head 2-9", "sink>=.25 layer 0-9999"})
    EXPECT_TRUE(holds(filter)) << filter;
  for (const char* filter : {"previous>0.5", "previous<0.5", "previous>0.4 sink>0.3", "layer 3",
                             "layer 4 head 3", "head 0-1", "nobody>-1"})
    EXPECT_FALSE(holds(filter)) << filter;
}

TEST(HeadFilter, NamesTheScoreThatThereIsNotAndWhere) {
  const std::string_view scores[] = {"previous", "sink"};
  check_head_filter(parse_head_filter("prev>1 layer 3 sink<2"), scores);
  EXPECT_HEED_ERROR(check_head_filter(parse_head_filter("sink<2  next>1"), scores),
                    ErrorCode::kInvalidArgument,
                    "filter: \"next>1\" at character 9, expected previous, sink, layer or head");
  EXPECT_HEED_ERROR(
      check_head_filter(parse_head_filter("previus>.2"), scores), ErrorCode::kInvalidArgument,
      "filter: \"previus>.2\" at character 1, expected previous, sink, layer or head; "
      "the nearest is previous");
}

}  // namespace
}  // namespace heed
