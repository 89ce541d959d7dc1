// What is part of a session's name, and what is not.
#include <gtest/gtest.h>

#include <fstream>

#include "inspect/session/session_input.h"
#include "support/scratch.h"

namespace heed {
namespace {

TEST(SessionName, IsSixteenDigitsAndTheSameForTheSame) {
  const std::string name = session_name("tales", {.text = "the cat"});
  EXPECT_EQ(name.size(), 16);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(session_name("tales", {.text = "the cat"}), name);
}

TEST(SessionName, TellsModelsTextsAndIdsApart) {
  const std::string names[] = {session_name("tales", {.text = "the cat"}),
                               session_name("tale", {.text = "sthe cat"}),
                               session_name("tales", {.text = "the cat "}),
                               session_name("tales", {}),
                               session_name("tales", {.ids = {3, 1, 2}}),
                               session_name("tales", {.ids = {3, 1}}),
                               session_name("tales", {.text = std::string("\3\0\0\0", 4)}),
                               session_name("tales", {.ids = {3}}),
                               session_name("tales", {.text = "the cat", .pair = ""}),
                               session_name("tales", {.text = "the cat", .target = ""}),
                               session_name("tales", {.text = "the cat", .pair = "a mat"}),
                               session_name("tales", {.text = "the cat", .target = "a mat"})};
  for (const std::string& one : names)
    for (const std::string& other : names) EXPECT_EQ(&one == &other, one == other);
}

TEST(ModelIdentity, ChangesWithTheFilesOfItsFolder) {
  const test::Scratch scratch;
  std::ofstream(scratch / "model.safetensors") << "weights";
  const LoadedModel model{
      .name = "m", .folder = scratch / ".", .built_in = false, .model = {}, .tokenizer = {}};
  const std::string before = model_identity(model);
  EXPECT_EQ(model_identity(model), before);
  std::ofstream(scratch / "model.safetensors") << "other weights";
  EXPECT_NE(model_identity(model), before);
}

TEST(ModelIdentity, OfAModelThatOnlyStandsInMemoryIsNewEachTime) {
  const LoadedModel model{
      .name = "m", .folder = {}, .built_in = false, .model = {}, .tokenizer = {}};
  EXPECT_NE(model_identity(model), model_identity(model));
}

}  // namespace
}  // namespace heed
