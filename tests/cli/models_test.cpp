// `heed models` on a folder with a small random GPT-2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::tiny_model;

TEST(ModelsCommand, ListsTheFoldersOfTheSearchPath) {
  tiny_model();
  setenv("HEED_MODELS", test::scratch().c_str(), 1);
  const Answer answer = test::heed({"models", "--json"});
  unsetenv("HEED_MODELS");
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::HasSubstr("\"tiny\""));
}

TEST(ModelsCommand, ShowsTheLineOfTheCard) {
  const std::filesystem::path folder = test::scratch() / "carded";
  std::filesystem::copy(tiny_model(), folder, std::filesystem::copy_options::recursive);
  std::ofstream(folder / "card.md") << "# A model\nKnows one cat.\n";
  setenv("HEED_MODELS", test::scratch().c_str(), 1);
  const Answer answer = test::heed({"models"});
  unsetenv("HEED_MODELS");
  EXPECT_THAT(answer.out, testing::HasSubstr(folder.string() + "\n  Knows one cat.\n"));
}

TEST(ModelsCommand, TellsWhatTheLossOnRandomTokensIsFor) {
  const Answer answer = test::heed({"models", tiny_model()});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::HasSubstr("Loss on these\n"));
  EXPECT_THAT(answer.out,
              testing::ContainsRegex("[0-9.]+ nats a token in the first half, [0-9.]+"));
  EXPECT_THAT(answer.out, testing::HasSubstr("(induction)"));
}

// The program alone in another folder, as somebody copies it to another machine.
TEST(ModelsCommand, AProgramWithoutItsModelsSaysHowToNameOne) {
  const std::filesystem::path folder = test::scratch() / "alone" / "bin";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(HEED_BINARY_DIR "/heed", folder / "heed",
                             std::filesystem::copy_options::skip_existing);
  const std::string error = (folder / "error").string();
  const std::string command =
      "cd '" + folder.string() + "' && HF_HOME=/nowhere HEED_MODELS= ./heed look hi 2>" + error;
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  const std::string root = std::filesystem::canonical(folder.parent_path()).string();
  EXPECT_EQ(test::content(error),
            "heed look: model: none came with this program, looked in " + root +
                "/share/heed/models and " + root +
                "/bin/share/heed/models: name a model's folder with --model, or a folder of models "
                "with $HEED_MODELS\n");
}

}  // namespace
}  // namespace heed::cli
