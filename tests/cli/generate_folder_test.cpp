// heed generate and what a model's folder says, or holds that it should not.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "cli/letters_model.h"
#include "cli/program.h"
#include "heed/models/registry.h"

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

TEST(GenerateProgram, AnErrorStandsOnALineOfItsOwn) {
  const std::filesystem::path path = letters_folder("broken");
  LoadedModel model = load_model(path);
  model.model->parameters().back()->value.data<float>()[0] = NAN;
  save_model(path, *model.model, model.tokenizer.get(), DType::kF32);
  const Answer answer = heed({"generate", "--model", path.string(), "abc"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.out, "abc\n");
  EXPECT_EQ(answer.error.substr(0, 23), "heed generate: logits[0");
}

TEST(GenerateProgram, AFirstTokenOutsideOfTheVocabularyIsNamed) {
  const Answer answer =
      heed({"generate", "--model", letters_folder("outside", ", \"bos_token_id\": 40"), ""});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed generate: PROMPT is empty, expected at least one character (the model's first "
            "token, bos_token_id 40, is outside of its vocabulary of 11)\n");
}

}  // namespace
}  // namespace heed
