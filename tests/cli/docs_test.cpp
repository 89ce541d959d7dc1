// The commands in README.md and docs/ work in a fresh checkout, and print what the pages show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "cli/program.h"
#include "support/places.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = HEED_SOURCE_DIR;

// A line of a ``` block that begins a command, and the lines that follow it there.
struct Shown {
  std::string command;
  std::string output = {};
  bool has_prompt = false;  // "$ heed ...": its output follows
};

std::string without(std::string line, std::string_view prefix) {
  if (line.starts_with(prefix)) line.erase(0, prefix.size());
  return line;
}

// "heed look TEXT" of "$ ./dev heed look TEXT    what it does"; empty where the line is none.
std::string command_of(const std::string& line) {
  const std::string command = without(without(line, "$ "), "./dev ");
  const bool is_message = command.substr(0, command.find(' ', 5)).ends_with(':');
  if (!command.starts_with("heed ") || is_message) return "";
  return command.substr(0, command.find("    "));
}

std::vector<Shown> commands_of(const fs::path& page) {
  std::vector<Shown> all;
  std::istringstream lines(test::content(page));
  bool inside = false;
  bool after_command = false;  // in the same block
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      after_command = false;
      continue;
    }
    const std::string command = inside ? command_of(line) : "";
    after_command |= !command.empty();
    if (!command.empty())
      all.push_back({.command = command, .has_prompt = line.starts_with("$ ")});
    else if (after_command)
      all.back().output += line + "\n";
  }
  return all;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> all = {kSource / "README.md", kSource / "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(kSource / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

// Commands that need more than a test has: a browser, the user's files, minutes.
bool command_runs_here(const std::string& command) {
  return std::ranges::none_of(
      std::vector<std::string>{"--format svg", "--format png", "input.txt", "novels/",
                               "runs/shakespeare", "runs/one-head", "runs/bigram", "train.en",
                               "reviews.tsv", "heed serve", "heed bench", "heed check", "--chat"},
      [&](const std::string& part) { return command.find(part) != std::string::npos; });
}

// Training for a few steps is enough to show that the command works.
std::string shortened(const std::string& command) {
  const bool trains = command.starts_with("heed train ");
  return trains && command.find("--steps") == std::string::npos ? command + " --steps 5" : command;
}

// A folder with the parts of the checkout that the commands name, and for their output.
const fs::path& checkout() {
  static const fs::path folder = [] {
    const fs::path path = test::scratch() / "checkout";
    fs::create_directories(path);
    for (const char* part : {"examples", "models", "LICENSE"})
      fs::create_symlink(kSource / part, path / part);
    return path;
  }();
  return folder;
}

test::Answer in_checkout(const std::string& command) {
  const std::string line = "cd '" + checkout().string() +
                           "' && PATH=" HEED_BINARY_DIR ":$PATH LC_ALL=C.UTF-8 COLUMNS=100 && " +
                           "export PATH LC_ALL COLUMNS && " + command + " >out 2>error";
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), test::content(checkout() / "out"),
          test::content(checkout() / "error")};
}

TEST(Docs, TheirCommandsWork) {
  int count = 0;
  for (const fs::path& page : pages())
    for (const Shown& shown : commands_of(page)) {
      if (!command_runs_here(shown.command)) continue;
      const test::Answer answer = in_checkout(shortened(shown.command));
      EXPECT_EQ(answer.status, 0) << page << ": " << shown.command << "\n" << answer.error;
      ++count;
    }
  EXPECT_GE(count, 8);
}

TEST(Docs, TheyShowWhatTheirCommandsPrint) {
  int count = 0;
  for (const fs::path& page : pages())
    for (const Shown& shown : commands_of(page)) {
      if (!shown.has_prompt) continue;
      EXPECT_EQ(fmt::format("\n{}", in_checkout(shown.command).out), shown.output)
          << page << shown.command;
      ++count;
    }
  EXPECT_GE(count, 3);
}

// A blank line ends a table: a row behind it is shown as text.
TEST(Docs, EachRowStandsInATable) {
  for (const fs::path& page : pages()) {
    std::istringstream lines(test::content(page));
    std::string before;
    bool begins = false;  // a table, with the line before
    for (std::string line; std::getline(lines, line); before = line) {
      if (begins) {
        EXPECT_THAT(line, testing::StartsWith("|--")) << page << ": " << before;
      }
      begins = line.starts_with("| ") && !before.starts_with("|");
    }
  }
}

// The lines of the blocks of a page that begin with ``` and `language`.
std::vector<std::string> programs_of(const fs::path& page, const std::string& language) {
  const std::string fence = "```" + language;
  std::vector<std::string> all;
  std::istringstream lines(test::content(page));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!inside && line == fence) all.emplace_back();
    inside = line == fence || (inside && line != "```");
    if (inside && line != fence) all.back() += line + "\n";
  }
  return all;
}

// Without the indentation of its lines, which a part of a function has there, and without what
// they say to clang-tidy.
std::string flush_left(const std::string& text) {
  std::istringstream lines(text);
  std::string flush;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("  // IWYU pragma"));
    flush += line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
  }
  return flush;
}

// What README.md and docs/ show of a language is all of an example or a run of its lines, and
// examples are run as tests.
void expect_programs_of_examples(const std::string& language, const fs::path& folder) {
  std::vector<std::string> examples;
  for (const auto& entry : fs::directory_iterator(kSource / folder))
    if (entry.path().extension() == "." + language)
      examples.push_back(flush_left(test::content(entry.path())));
  int count = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& program : programs_of(page, language)) {
      EXPECT_THAT(examples, testing::Contains(testing::HasSubstr(flush_left(program)))) << page;
      ++count;
    }
  }
  EXPECT_GE(count, 2);
}

TEST(Docs, TheirProgramsAreOfTheExamples) { expect_programs_of_examples("cpp", "examples"); }
TEST(Docs, TheirProgramsInCAreOfTheExamples) { expect_programs_of_examples("c", "examples/c"); }

// Every example is linked from docs/attention.md, and short enough to read there.
TEST(Docs, TheExamplesAreShortAndLinked) {
  const std::string text = test::content(kSource / "docs/attention.md");
  for (const auto& entry : fs::directory_iterator(kSource / "examples")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string name = entry.path().filename().string();
    EXPECT_THAT(text, testing::HasSubstr("[" + name + "](../examples/" + name + ")"));
    EXPECT_LE(std::ranges::count(test::content(entry.path()), '\n'), 40) << name;
  }
}

// A file that a command reads is in the checkout, or an earlier line of the page says how it comes.
TEST(Docs, TheirFilesAreThere) {
  for (const fs::path& page : pages()) {
    const std::string text = test::content(page);
    for (const Shown& shown : commands_of(page)) {
      std::istringstream words(shown.command);
      for (std::string word, before; words >> word; before = word) {
        const bool is_read = before == "--file" || before == "--data" || word.ends_with(".json");
        if (!is_read || fs::exists(kSource / word)) continue;
        EXPECT_THAT(text, testing::HasSubstr("`" + word + "` is")) << page << shown.command;
      }
    }
  }
}

// Files that a command writes into the checkout are ignored by `git status`.
TEST(Docs, WhatTheirCommandsWriteIsIgnored) {
  std::vector<std::string> ignored;
  std::istringstream lines(test::content(kSource / ".gitignore"));
  for (std::string line; std::getline(lines, line);) ignored.push_back(line);
  int count = 0;
  for (const fs::path& page : pages())
    for (const Shown& shown : commands_of(page)) {
      std::istringstream words(shown.command);
      for (std::string word, before; words >> word; before = word) {
        if (before != "-o") continue;
        const std::size_t folder = word.find('/');
        const std::string pattern = folder != std::string::npos
                                        ? fmt::format("/{}/", word.substr(0, folder))
                                        : fmt::format("/*{}", fs::path(word).extension().string());
        EXPECT_THAT(ignored, testing::Contains(pattern)) << page << shown.command;
        ++count;
      }
    }
  EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace heed::cli
