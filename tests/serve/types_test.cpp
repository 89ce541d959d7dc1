// The page's types, compared with the server's real answers.
#include <map>
#include <regex>
#include <sstream>

#include "serve/served.h"
#include "support/answer_types.h"

namespace heed {
namespace {

using nlohmann::json;

struct Field {
  bool optional = false;
  std::string type;
};
using Interfaces = std::map<std::string, std::map<std::string, Field>>;

Interfaces interfaces() {
  static const std::regex begin(R"(export interface (\w+) \{)"), field(R"(  (\w+)(\??): (.*);)");
  Interfaces found;
  std::string name;
  std::istringstream lines(answer_types());
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, begin)) name = match[1];
    if (std::regex_match(line, match, field))
      found[name][match[1]] = {match[2].length() > 0, match[3]};
  }
  return found;
}

void check(const json& value, const std::string& type, const std::string& where);

void check_interface(const json& value, const std::string& name, const std::string& where) {
  static const Interfaces known = interfaces();
  ASSERT_TRUE(known.contains(name)) << where << ": " << name;
  ASSERT_TRUE(value.is_object()) << where;
  for (const auto& [field, what] : known.at(name)) {
    if (value.contains(field)) {
      check(value[field], what.type, where + "." + field);
    } else {
      EXPECT_TRUE(what.optional) << where << " has no " << field;
    }
  }
  for (const auto& [field, ignored] : value.items())
    EXPECT_TRUE(known.at(name).contains(field)) << where << " has an unknown " << field;
}

void check(const json& value, const std::string& type, const std::string& where) {
  if (type.ends_with("[]")) {
    ASSERT_TRUE(value.is_array()) << where;
    std::string item = type.substr(0, type.size() - 2);
    if (item.starts_with("(")) item = item.substr(1, item.size() - 2);
    for (const json& one : value) check(one, item, where + "[]");
  } else if (type.ends_with(" | null")) {
    if (!value.is_null()) check(value, type.substr(0, type.size() - 7), where);
  } else if (type == "number") {
    EXPECT_TRUE(value.is_number()) << where;
  } else if (type == "string") {
    EXPECT_TRUE(value.is_string()) << where;
  } else if (type == "boolean") {
    EXPECT_TRUE(value.is_boolean()) << where;
  } else {
    check_interface(value, type, where);
  }
}

TEST(AnswerTypes, AreThoseOfRealAnswers) {
  test::Opened opened(test::kServedText, /*statistics=*/true);
  const std::string id = opened.session["session"];
  const std::pair<std::string, const char*> answers[] = {
      {"", "Session"},
      {"/self/heads", "Heads"},
      {"/self/next", "Next"},
      {"/self/1/2/late/probe", "LateScores"},
      {"/self/1/2/late/run", "LateScores"},
      {"/self/1/2/evidence/previous?against=0,1", "Evidence"},
      {"/self/1/2/evidence/probe_induction?form=adjusted", "Evidence"},
      {"/self/1/2/row/3", "Row"},
      {"/self/1/2/column/3", "Column"},
      {"/self/1/2/cell/3/1", "Cell"},
      {"/self/1/2/cell/1/3?view=hover", "Cell"},
      {"/self/1/2/why/3/1", "Why"},
      {"/self/1/2/why/1/3", "Why"},
      {"/self/1/2/why/3/1/origins", "Origins"},
      {"/self/1/2/why/3/1/effect", "Effect"},
      {"/self/1/2/why/3/1/test?edit=ablate", "Trial"},
      {"/self/1/2/anatomy?query=1", "Anatomy"},
      {"/self/1/2/dimensions/3?key=9", "Dimensions"},
      {"/self/1/2/geometry/3", "Geometry"},
      {"/self/1/2/marginals", "Marginals"},
      {"/alignment?from=" + id, "Alignment"},
      {"/self/changes?from=" + id, "Changes"},
      {"/self/1/edges?heads=2", "Edges"}};
  check(test::got(opened.client, "/api/v1/models"), "Models", "Models");
  for (const auto& [rest, type] : answers) check(opened.get(rest), type, type);
  check(opened.get("/self/9/2/marginals", 404)["error"], "ApiError", "error");
}

}  // namespace
}  // namespace heed
