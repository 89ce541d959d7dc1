// `heed --help` and its promises: every command has examples, and they work as printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "cli/program.h"
#include "heed/tensor.h"
#include "support/places.h"

namespace heed::cli {
namespace {

constexpr const char* kCommands[] = {"look",    "serve",   "generate", "train",    "attend",
                                     "explain", "bench",   "check",    "tokenize", "embed",
                                     "models",  "convert", "evaluate"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> examples_of(const std::string& command) {
  const std::string help = test::heed({command, "--help"}).out;
  const std::size_t begin = help.find("Examples:\n");
  return begin == std::string::npos ? std::vector<std::string>()
                                    : lines_of(help.substr(begin + std::strlen("Examples:\n")));
}

// A folder with the files that the examples name.
const std::filesystem::path& files() {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path path = test::scratch() / "examples";
    std::filesystem::create_directories(path / "my-models");
    std::filesystem::create_directories(path / "examples");
    std::ofstream(path / "examples" / "story.txt")
        << "The king had a daughter, and he loved her. She was a "
           "child of the king, and he was old.";
    std::ofstream(path / "texts.jsonl") << "\"the cat\"\n\"the mat\"\n";
    std::filesystem::copy(HEED_BINARY_DIR "/share/heed/models/tales/tokenizer.json", path);
    for (const char* name : {"Q.npy", "K.npy", "V.npy"})
      write_npy(path / name, Tensor::zeros({1, 2, 6, 4}));
    return path;
  }();
  return folder;
}

// Examples that need more than a test has: a browser, a training run, minutes, ONNX's files,
// another model.
bool example_runs_here(const std::string& example) {
  return std::ranges::none_of(
      std::vector<std::string>{"heed serve", "heed train", "heed check", "-o view.svg",
                               "heed bench", "models/"},
      [&](const std::string& part) { return example.find(part) != std::string::npos; });
}

TEST(Help, HasExamplesForEveryCommand) {
  for (const char* command : kCommands) {
    const std::vector<std::string> examples = examples_of(command);
    EXPECT_GE(examples.size(), 2U) << command;
    for (const std::string& example : examples)
      EXPECT_THAT(example, testing::HasSubstr(std::string("heed ") + command)) << command;
  }
}

TEST(Help, ItsExamplesWork) {
  int count = 0;
  for (const char* command : kCommands) {
    for (const std::string& example : examples_of(command)) {
      if (!example_runs_here(example)) continue;
      const std::string line = "cd '" + files().string() +
                               "' && PATH=" HEED_BINARY_DIR ":$PATH && " + example +
                               " >out 2>error";
      EXPECT_EQ(std::system(line.c_str()), 0) << example << test::content(files() / "error");
      ++count;
    }
  }
  EXPECT_GE(count, 15);
}

TEST(Help, ListsEveryCommandAndHowToBegin) {
  const std::string help = test::heed({"--help"}).out;
  for (const char* command : kCommands)
    EXPECT_THAT(help, testing::HasSubstr(std::string("\n  ") + command + " ")) << command;
  EXPECT_THAT(help, testing::HasSubstr("Begin with:  heed look \"The cat"));
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(test::heed({"help"}).out, test::heed({"--help"}).out);
  EXPECT_EQ(test::heed({"help", "look"}).out, test::heed({"look", "--help"}).out);
  EXPECT_THAT(test::heed({"help", "lok"}).error, testing::HasSubstr("the nearest is look"));
}

// With stderr closed the program still ends with the status of its error, not by abort.
TEST(Help, ErrorsAreStatusesWhereStderrIsClosed) {
  EXPECT_EQ(test::heed({"lok"}, "2>&-").status, 2);
  EXPECT_EQ(test::heed({"look", "the cat", "--model", "/none"}, "2>&-").status, 2);
}

TEST(Help, OfTrainingSaysTheDefaults) {
  const std::string help = test::heed({"train", "--help"}).out;
  for (const char* line :
       {"--layers N                  layers (default: 4)\n",
        "--learning-rate X           learning rate after the warm-up (default: 0.001)\n",
        "(default: characters)\n"})
    EXPECT_THAT(help, testing::HasSubstr(line));
}

TEST(Help, HasLinesThatATerminalHolds) {
  for (const char* command : kCommands)
    for (const std::string& line : lines_of(test::heed({command, "--help"}).out))
      if (line.find("heed ") == std::string::npos) {
        EXPECT_LE(line.size(), 100U) << line;
      }
}

}  // namespace
}  // namespace heed::cli
