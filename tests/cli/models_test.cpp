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

}  // namespace
}  // namespace heed::cli
