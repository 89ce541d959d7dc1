// Below the command line nothing prints and nothing ends the process: errors are thrown.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "architecture/source_tree.h"
#include "support/places.h"

namespace heed {
namespace {

using test::SourceFile;

std::vector<std::string> loud_lines(const std::vector<SourceFile>& files) {
  static const std::regex kLoud(
      R"(\bstd::(cout|cerr|clog)\b|)"
      R"(\b(printf|puts|fputs|perror|fmt::print|abort|exit|_Exit|terminate)\()");
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    if (file.floor == "cli") continue;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::string code = file.lines[line].substr(0, file.lines[line].find("//"));
      if (std::regex_search(code, kLoud))
        found.push_back(file.path + ":" + std::to_string(line + 1));
    }
  }
  return found;
}

TEST(Quiet, NothingBelowTheCommandLinePrintsOrExits) {
  EXPECT_THAT(loud_lines(test::source_tree(HEED_SOURCE_DIR)), testing::IsEmpty());
}

TEST(Quiet, ALoudLineIsFoundAndACommentIsNot) {
  const std::vector<SourceFile> planted = {
      {.path = "src/io/a.cpp", .floor = "io", .lines = {"// exit(1)", "std::abort();"}},
      {.path = "src/cli/b.cpp", .floor = "cli", .lines = {"std::cout << 1;"}}};
  EXPECT_THAT(loud_lines(planted), testing::ElementsAre("src/io/a.cpp:2"));
}

}  // namespace
}  // namespace heed
