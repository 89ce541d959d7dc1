// The table in docs/attention.md matches the kernels' answers for the cases. To rewrite it:
// HEED_WRITE_DOCS=1 build/release/tests/bench_tests --gtest_filter='SupportTable.*'
#include "bench/support_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/places.h"

namespace heed {
namespace {

constexpr std::string_view kBegin = "<!-- support table: generated -->\n";
constexpr std::string_view kEnd = "<!-- support table: end -->\n";

TEST(SupportTable, OfTheDocsIsTheOneThatTheCasesGive) {
  const std::string path = HEED_SOURCE_DIR "/docs/attention.md";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  const std::string table = attention_support_table();
  if (std::getenv("HEED_WRITE_DOCS") != nullptr)
    std::ofstream(path) << page.substr(0, from) << table << page.substr(end);
  else
    EXPECT_EQ(page.substr(from, end - from), table) << "the head of this file says how to write it";
}

TEST(SupportTable, EveryKernelServesEverythingAndObserversTakeIt) {
  std::istringstream lines(attention_support_table());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "| | `cpu-avx512` | `cpu-avx2` | `portable` | `reference` | observed | cases |");
  std::getline(lines, line);
  while (std::getline(lines, line))
    EXPECT_NE(line.find("| both | both | both | both | yes | "), std::string::npos) << line;
}

}  // namespace
}  // namespace heed
