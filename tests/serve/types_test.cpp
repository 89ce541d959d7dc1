// The page's types, compared with the server's real answers.
#include <map>
#include <regex>
#include <sstream>

#include "serve/served.h"
#include "support/answer_types.h"

namespace heed {
namespace {

using nlohmann::json;
using test::Served;

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
  const Served served;
  httplib::Client client = served.client();
  const std::string id = served.open(test::kServedText, /*statistics=*/true)["session"];
  const std::string path = "/api/v1/sessions/" + id;
  const std::pair<std::string, const char*> answers[] = {
      {"/api/v1/models", "Models"},
      {path, "Session"},
      {path + "/self/heads", "Heads"},
      {path + "/self/next", "Next"},
      {path + "/self/1/2/late/probe", "LateScores"},
      {path + "/self/1/2/late/run", "LateScores"},
      {path + "/self/1/2/evidence/previous?against=0,1", "Evidence"},
      {path + "/self/1/2/evidence/probe_induction?form=adjusted", "Evidence"},
      {path + "/self/1/2/row/3", "Row"},
      {path + "/self/1/2/column/3", "Column"},
      {path + "/self/1/2/cell/3/1", "Cell"},
      {path + "/self/1/2/cell/1/3?view=hover", "Cell"},
      {path + "/self/1/2/why/3/1", "Why"},
      {path + "/self/1/2/why/1/3", "Why"},
      {path + "/self/1/2/why/3/1/origins", "Origins"},
      {path + "/self/1/2/why/3/1/effect", "Effect"},
      {path + "/self/1/2/why/3/1/test?edit=ablate", "Trial"},
      {path + "/self/1/2/anatomy?query=1", "Anatomy"},
      {path + "/self/1/2/dimensions/3?key=9", "Dimensions"},
      {path + "/self/1/2/geometry/3", "Geometry"},
      {path + "/self/1/2/marginals", "Marginals"},
      {path + "/alignment?from=" + id, "Alignment"},
      {path + "/self/changes?from=" + id, "Changes"},
      {path + "/self/1/edges?heads=2", "Edges"}};
  for (const auto& [address, type] : answers)
    check(json::parse(client.Get(address)->body), type, type);
  check(json::parse(client.Get(path + "/self/9/2/marginals")->body)["error"], "ApiError", "error");
}

}  // namespace
}  // namespace heed
