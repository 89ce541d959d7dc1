// heed embed: texts to vectors, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/io/npy.h"
#include "heed/models/sentence.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;

// A small encoder that says how it pools.
const std::string& sentence_encoder() {
  static const std::string folder = [] {
    const std::filesystem::path path = test::scratch() / "sentences";
    std::filesystem::copy(test::tiny_encoder(), path);
    std::filesystem::create_directories(path / "1_Pooling");
    std::ofstream(path / "1_Pooling/config.json") << R"({"pooling_mode_mean_tokens": true})";
    std::ofstream(path / "modules.json")
        << R"([{"type": "sentence_transformers.models.Normalize"}])";
    return path.string();
  }();
  return folder;
}

Answer embed(std::vector<std::string> arguments, const std::string& shell = "") {
  arguments.insert(arguments.begin(), "embed");
  arguments.insert(arguments.end(), {"--model", sentence_encoder()});
  return test::heed(arguments, shell);
}

TEST(Embed, JsonHasTheVectorOfEachText) {
  const Answer answer = embed({"the cat", "a\tmat"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  EXPECT_EQ(found["model"], "sentences");
  ASSERT_EQ(found["vectors"].size(), 2U);
  EXPECT_EQ(found["vectors"][1]["text"], "a\tmat");
  const std::vector<std::string> texts = {"the cat", "a\tmat"};
  const Tensor expected = sentence_vectors(load_model(sentence_encoder()), texts);
  for (std::size_t text = 0; text < 2; ++text) {
    const std::vector<float> vector = found["vectors"][text]["vector"];
    ASSERT_EQ(vector.size(), 16U);
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(vector[i], expected.data<float>()[text * 16 + i]) << text << " " << i;
  }
}

TEST(Embed, TakesALineATextAndWritesEachFormat) {
  std::ofstream file(in_scratch("lines.txt"));
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) texts.push_back("the cat " + std::to_string(i));  // several passes
  for (const std::string& text : texts) file << text << "\n";
  file.close();
  ASSERT_EQ(embed({"--file", in_scratch("lines.txt"), "-o", in_scratch("v.npy")}).status, 0);
  const Tensor vectors = read_npy(in_scratch("v.npy"));
  ASSERT_EQ(to_string(vectors.shape()), "[40, 16]");
  std::istringstream lines(
      embed({"--file", "-", "--format", "tsv"}, "< " + in_scratch("lines.txt")).out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream fields(line);
    std::string text;
    std::getline(fields, text, '\t');
    EXPECT_EQ(text, texts[count]);
    float value = 0;
    for (std::size_t i = 0; i < 16 && fields >> value; ++i)
      EXPECT_EQ(value, vectors.data<float>()[count * 16 + i]);
    EXPECT_TRUE(fields) << line;
  }
  EXPECT_EQ(count, 40U);
}

TEST(Embed, WhatHasNoVectorIsOneLineAndStatusTwo) {
  const auto refused = [](const Answer& answer, const std::string& line) {
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error, "heed embed: " + line + "\n");
  };
  refused(
      test::heed({"embed", "the cat", "--model", test::tiny_encoder()}),
      "--model is tiny-reader, which has no 1_Pooling/config.json, expected a sentence encoder, "
      "whose folder says how its states become one vector");
  refused(test::heed({"embed", "the cat"}), "--model is missing");
  refused(embed({}), "no text is given, expected TEXT or --file");
  refused(embed({"a", std::string(65, 'z')}),
          "text 2 is 65 tokens, expected 1 to 64 (sentences's positions)");
}

}  // namespace
}  // namespace heed::cli
