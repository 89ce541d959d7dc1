// The tests named in the documentation exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/places.h"

namespace heed {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::set<std::string> found_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern); at != std::sregex_iterator();
       ++at)
    names.insert((*at)[1].str() + "." + (*at)[2].str());
  return names;
}

// `Suite.Name` in backquotes, both with a capital.
std::set<std::string> named_tests(const std::string& page) {
  static const std::regex kNamed("`([A-Z][A-Za-z]+)\\.([A-Z][A-Za-z]+)`");
  return found_in(page, kNamed);
}

std::set<std::string> tests_there() {
  static const std::regex kTest(R"(TEST(?:_[PF])?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> names;
  const std::filesystem::path tests = std::filesystem::path(HEED_SOURCE_DIR) / "tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests))
    if (entry.path().extension() == ".cpp") names.merge(found_in(text_of(entry.path()), kTest));
  return names;
}

TEST(Docs, TestsThatAPageNamesAreThere) {
  const std::set<std::string> there = tests_there();
  const std::filesystem::path docs = std::filesystem::path(HEED_SOURCE_DIR) / "docs";
  std::set<std::string> absent;
  for (const auto& page : std::filesystem::directory_iterator(docs))
    for (const std::string& name : named_tests(text_of(page.path())))
      if (!there.contains(name)) absent.insert(name);
  EXPECT_THAT(absent, testing::IsEmpty());
}

TEST(Docs, ANamedTestIsFoundAndOtherCodeIsNot) {
  EXPECT_THAT(named_tests("`Suite.Name`, `args.mask`, Suite.Other, `docs/page.md`"),
              testing::ElementsAre("Suite.Name"));
}

}  // namespace
}  // namespace heed
