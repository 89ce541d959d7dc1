// The library's arguments under the names of the options that gave them.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/options/arguments.h"

namespace heed::cli {
namespace {

// The error as the command line prints it if these options were given.
std::string printed(const ErrorParts& parts, const std::vector<std::string>& given_names) {
  static std::string ignored;
  OptionList options;
  for (const char* name : {"Q", "K", "--top-p", "--window", "--packed-q", "--softcap", "--v-scales",
                           "--observe", "--kernel", "--ids", "-o,--output"})
    options.push_back({.name = name, .to = &ignored});
  Given given(options);
  for (std::size_t n = 0; n < options.size(); ++n)
    if (std::ranges::find(given_names, options[n].long_name()) != given_names.end()) given.mark(n);
  return in_options(given, "attend", Error(parts)).what();
}

TEST(OptionNames, AnArgumentIsNamedByItsOption) {
  EXPECT_EQ(printed({.op = "sampling", .argument = "top_p", .found = 2, .expected = "at most 1"},
                    {"--top-p"}),
            "--top-p is 2, expected at most 1");
}

TEST(OptionNames, APlaceInAnArgumentStandsBeforeItsOption) {
  EXPECT_EQ(
      printed({.op = "attention", .argument = "k.shape[2]", .found = 6, .expected = 5}, {"K"}),
      "shape[2] of K is 6, expected 5");
  EXPECT_EQ(printed({.op = "attention", .argument = "keys.k.shape[2]", .found = 6}, {"K"}),
            "shape[2] of K is 6");
  EXPECT_EQ(printed({.op = "attention", .argument = "extents.query_starts[1]", .found = -3},
                    {"--packed-q"}),
            "--packed-q[1] is -3");
}

TEST(OptionNames, AFieldIsFoundAtTheEndOfItsPath) {
  EXPECT_EQ(printed({.op = "attention", .argument = "scores.softcap", .found = -1}, {"--softcap"}),
            "--softcap is -1");
  EXPECT_EQ(printed({.op = "attention", .argument = "mask.left", .found = -5}, {"--window"}),
            "--window: left is -5");
}

TEST(OptionNames, WhatWasNotGivenKeepsTheLibrarysName) {
  EXPECT_EQ(printed({.op = "sampling", .argument = "top_p", .found = 2}, {}),
            "sampling: top_p is 2");
}

TEST(OptionNames, AMemberOfAFileKeepsItsName) {
  EXPECT_EQ(printed({.file = "run.json", .argument = "top_p", .found = 2}, {"--top-p"}),
            "run.json: top_p is 2");
}

TEST(OptionNames, WhatIsMissingIsNamedByTheOptionThatCouldGiveIt) {
  EXPECT_EQ(printed({.op = "attention", .argument = "v_scales", .expected = "f32"}, {}),
            "--v-scales is not given, expected f32");
}

TEST(OptionNames, AnObserverIsAnOperationOfItsOwn) {
  EXPECT_EQ(printed({.op = "entropy", .found = "the normaliser is none"}, {"--observe"}),
            "--observe entropy: the normaliser is none");
}

TEST(OptionNames, AMaskHasItsArgumentsName) {
  EXPECT_EQ(printed({.op = "window", .argument = "window", .found = "f32", .expected = "i64"},
                    {"--window"}),
            "--window is f32, expected i64");
}

TEST(OptionNames, TheCommandIsNotSaidTwice) {
  EXPECT_EQ(printed({.op = "attend", .found = "nothing to do"}, {}), "nothing to do");
}

}  // namespace
}  // namespace heed::cli
