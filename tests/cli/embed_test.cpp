// heed embed: texts to vectors, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/model.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;

// A small encoder with a pooling configuration.
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
  refused(test::heed({"embed", "the cat"}),
          "--model is missing, expected a model's folder or name");
  refused(embed({}), "no text is given, expected TEXT or --file");
  refused(embed({"a", std::string(65, 'z'), "--cut", "no"}),
          "text 2 is 65 tokens, expected 1 to 64 (the most that sentences reads)");
}

TEST(Embed, CutsWhatIsLongerThanTheEncoderIsMeantForAndSaysSo) {
  const std::filesystem::path folder = test::scratch() / "short-sentences";
  std::filesystem::copy(sentence_encoder(), folder, std::filesystem::copy_options::recursive);
  std::ofstream(folder / "sentence_bert_config.json") << R"({"max_seq_length": 3})";
  const auto vector_of = [&](const std::string& text, const std::string& cut, std::string error) {
    const Answer answer =
        test::heed({"embed", "b", text, "--cut", cut, "--model", folder.string()});
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.error, error);
    return json::parse(answer.out)["vectors"][1]["vector"];
  };
  const std::string told = "heed embed: 1 of 2 texts has more than 3 tokens, of which the ";
  EXPECT_EQ(vector_of("xyzzyz", "first", told + "first are read: text 2 has 6\n"),
            vector_of("xyz", "first", ""));
  EXPECT_EQ(vector_of("xyzzyz", "last", told + "last are read: text 2 has 6\n"),
            vector_of("zyz", "first", ""));
}

// Nothing is said of texts that are not read in the end.
TEST(Embed, APoolingThatIsNotServedIsOneLine) {
  const std::filesystem::path folder = test::scratch() / "max-sentences";
  std::filesystem::copy(sentence_encoder(), folder, std::filesystem::copy_options::recursive);
  std::ofstream(folder / "sentence_bert_config.json") << R"({"max_seq_length": 3})";
  std::ofstream(folder / "1_Pooling/config.json") << R"({"pooling_mode_max_tokens": true})";
  test::expect_refused({"embed", "xyzzyz", "--model", folder.string()},
                       (folder / "1_Pooling/config.json").string() +
                           ": line 1, column 29: pooling_mode_max_tokens is true, expected the "
                           "mean of all tokens or the first one (cls) alone");
}

TEST(Embed, AVectorThatIsNoNumberIsAnErrorThatNamesTheText) {
  const std::filesystem::path folder = test::scratch() / "broken-sentences";
  std::filesystem::copy(sentence_encoder(), folder, std::filesystem::copy_options::recursive);
  LoadedModel model = load_model(folder);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name.ends_with("LayerNorm.bias")) parameter->value.data<float>()[0] = NAN;
  save_model(folder, *model.model, model.tokenizer.get(), DType::kF32);
  test::expect_refused({"embed", "a", "b", "--model", folder.string()},
                       "element 0 of text 1's vector is nan, expected a number: weights of "
                       "broken-sentences may not be finite");
}

}  // namespace
}  // namespace heed::cli
