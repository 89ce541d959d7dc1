// heed generate and the settings in a model's folder, valid and invalid.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/model.h"

namespace heed {
namespace {

using test::Answer;
using test::heed;
using test::letters_folder;

Answer plain(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"generate", "--model", letters_folder("plain")});
  return heed(arguments);
}

TEST(GenerateProgram, FollowsTheFoldersFileAndNamesWhatItDoesNotFollow) {
  const std::filesystem::path path = letters_folder("followed");
  std::ofstream(path / "generation_config.json")
      << R"({"no_repeat_ngram_size": 1, "num_beams": 3, "typical_p": 0.5})";
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "abc", "-n", "6", "--model", path.string()});
    return heed(more);
  };
  const Answer beams = run({});
  EXPECT_EQ(beams.error, "heed generate: " + (path / "generation_config.json").string() +
                             " asks for typical_p, which heed does not follow\n");
  EXPECT_EQ(beams.out, plain({"abc", "-n", "6", "--beams", "3", "--no-repeat-ngram", "1"}).out);
  EXPECT_EQ(run({"--temperature", "0", "--no-repeat-ngram", "0"}).out,
            plain({"abc", "-n", "6", "--temperature", "0"}).out);
}

constexpr std::pair<const char*, const char*> kInVain[] = {
    {"{\n \"forced_bos_token_id\": 99}",
     "2, column 25: forced_bos_token_id is 99, expected 0 to 10 (the vocabulary)"},
    {R"({"forced_eos_token_id": [3, 11]})",
     "1, column 25: forced_eos_token_id is 11, expected 0 to 10 (the vocabulary)"},
    {R"({"do_sample": true, "temperature": -0.5})",
     "1, column 36: temperature is -0.5, expected a finite number of at least 0 (greedy)"},
    {R"({"do_sample": true, "top_p": 7})",
     "1, column 30: top_p is 7, expected above 0 and at most 1"},
    {R"({"repetition_penalty": 0})", "1, column 24: repetition_penalty is 0, expected above 0"},
    {R"({"num_beams": 5000})",
     "1, column 15: num_beams is 5000, expected a whole number, 1 to 4096"},
    {R"({"suppress_tokens": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]})",
     "1, column 21: suppress_tokens is all 11 tokens of the vocabulary, expected a list that "
     "leaves one to be written"},
    {R"({"stop_strings": ["a", ""]})",
     "1, column 18: stop_strings is an empty text, expected at least one character"},
};

// One line each: the file, the place in it, its key, its value and what is expected.
TEST(GenerateProgram, WhatTheFoldersFileAsksInVainIsNamedWithItsLine) {
  const std::filesystem::path path = letters_folder("vain");
  const std::filesystem::path file = path / "generation_config.json";
  const auto expect = [&](const std::string& content, const std::string& message) {
    std::ofstream(file) << content;
    test::expect_refused({"generate", "abc", "-n", "3", "--model", path.string()},
                         file.string() + ": line " + message);
  };
  for (const auto& [content, message] : kInVain) expect(content, message);
  std::filesystem::remove(path / "tokenizer.json");
  std::ofstream(file) << R"({"stop_strings": ["END"]})";
  EXPECT_EQ(heed({"generate", "--ids", "3,4", "--model", path.string()}).error,
            "heed generate: " + file.string() +
                ": line 1, column 18: stop_strings is given, expected none, as the model has no "
                "tokenizer\n");
}

TEST(GenerateProgram, AStopTextNeedsATokenizer) {
  const std::filesystem::path path = letters_folder("wordless");
  std::filesystem::remove(path / "tokenizer.json");
  test::expect_refused({"generate", "--ids", "3,4", "--stop", "END", "--model", path.string()},
                       "--stop is given, expected none, as wordless has no tokenizer");
}

TEST(GenerateProgram, ASeedLeavesTheSamplingOfTheFolderAsItIs) {
  const std::filesystem::path path = letters_folder("sampled");
  std::ofstream(path / "generation_config.json")
      << R"({"do_sample": true, "temperature": 1.5, "top_k": 3})";
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "abc", "-n", "12", "--model", path.string()});
    return heed(more).out;
  };
  for (const char* seed : {"1", "2", "3"}) {
    EXPECT_EQ(
        run({"--seed", seed}),
        plain({"abc", "-n", "12", "--seed", seed, "--temperature", "1.5", "--top-k", "3"}).out);
    EXPECT_EQ(
        run({"--seed", seed, "--top-k", "9"}),
        plain({"abc", "-n", "12", "--seed", seed, "--temperature", "1.5", "--top-k", "9"}).out);
  }
  EXPECT_EQ(run({"--temperature", "0"}), plain({"abc", "-n", "12", "--temperature", "0"}).out);
  EXPECT_EQ(run({"--beams", "3"}), plain({"abc", "-n", "12", "--beams", "3"}).out);
}

TEST(GenerateProgram, AnErrorStandsOnALineOfItsOwn) {
  const std::filesystem::path path = letters_folder("not-finite");
  LoadedModel model = load_model(path);
  model.model->parameters().back()->value.data<float>()[0] = NAN;
  save_model(path, *model.model, model.tokenizer.get(), DType::kF32);
  const Answer answer = heed({"generate", "--model", path.string(), "abc"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "abc\n");
  EXPECT_EQ(answer.error.substr(0, 23), "heed generate: logits[0");
}

TEST(GenerateProgram, AFirstTokenOutsideOfTheVocabularyIsNamed) {
  test::expect_refused(
      {"generate", "--model", letters_folder("outside", ", \"bos_token_id\": 40"), ""},
      "PROMPT is empty, expected at least one character (the model's first token, bos_token_id "
      "40, is outside of its vocabulary of 11)");
}

}  // namespace
}  // namespace heed
