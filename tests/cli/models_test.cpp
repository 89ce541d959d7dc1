// `heed models` on a folder with a small random GPT-2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "support/places.h"

namespace heed::cli {
namespace {

using nlohmann::json;
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

Answer in_folder(const std::filesystem::path& folder, const std::string& rest) {
  const std::string out = test::in_scratch("listed");
  const std::string command = "cd '" + folder.string() +
                              "' && HF_HOME=/nowhere HEED_MODELS= COLUMNS=100 " HEED_BINARY_DIR
                              "/heed models " +
                              rest + " >" + out;
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), test::content(out), ""};
}

// A checkout's ./models is the folder that the program has as its own.
TEST(ModelsCommand, TheBuiltInModelsAreBuiltInWhereverTheirFolderIsFound) {
  const std::filesystem::path folder = test::scratch() / "checkout-of-models";
  std::filesystem::create_directories(folder);
  std::filesystem::create_directory_symlink(HEED_BINARY_DIR "/share/heed/models",
                                            folder / "models");
  const json list = json::parse(in_folder(folder, "--json").out);
  std::vector<std::string> folders;
  for (const json& model : list) {
    folders.push_back(model["folder"]);
    EXPECT_EQ(model["built_in"], true);
    EXPECT_EQ(model["by_name"], true);
  }
  EXPECT_THAT(folders, testing::ElementsAre("models/enja", "models/masks", "models/tales"));
}

TEST(ModelsCommand, AModelThatHidesTheBuiltInOneStandsBesideIt) {
  const std::filesystem::path folder = test::scratch() / "other-tales";
  std::filesystem::create_directories(folder / "models");
  std::filesystem::copy(tiny_model(), folder / "models" / "tales",
                        std::filesystem::copy_options::recursive);
  json list = json::parse(in_folder(folder, "--json").out);
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const json& model) { return model["name"] != "tales"; }),
             list.end());
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0]["folder"], "models/tales");
  EXPECT_EQ(list[0]["built_in"], false);
  EXPECT_EQ(list[0]["by_name"], true);
  EXPECT_EQ(list[1]["folder"], HEED_BINARY_DIR "/share/heed/models/tales");
  EXPECT_EQ(list[1]["built_in"], true);
  EXPECT_EQ(list[1]["by_name"], false);
  EXPECT_THAT(
      in_folder(folder, "").out,
      testing::AllOf(
          testing::StartsWith(
              "tales            models/tales\n"
              "  GPT-2 (gpt2): 0.01 M parameters in f32, 2 layers x 4 heads, width 16, "
              "40 positions, vocabulary 270\n"),
          testing::HasSubstr("tales  built in  " HEED_BINARY_DIR "/share/heed/models/tales\n"
                             "  --model tales is the one above; this one is used without "
                             "--model\n")));
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

TEST(ModelsCommand, EachRowOfTheHeadsTableBeginsWithItsLayer) {
  const Answer answer = test::heed({"models", tiny_model()});
  EXPECT_THAT(answer.out, testing::ContainsRegex("layer   H0.*\n     0 .*\n     1 "));
}

TEST(ModelsCommand, TellsWhatTheLossOnRandomTokensIsFor) {
  const Answer answer = test::heed({"models", tiny_model()});
  ASSERT_EQ(answer.status, 0) << answer.error;
  EXPECT_THAT(answer.out, testing::HasSubstr("Loss on these\n"));
  EXPECT_THAT(answer.out,
              testing::ContainsRegex("[0-9.]+ nats per token in the first half, [0-9.]+"));
  EXPECT_THAT(answer.out, testing::HasSubstr("(induction)"));
}

// The cache of the hub: models--ORG--NAME/snapshots/REVISION, where refs/main names the revision.
std::filesystem::path cached(const std::filesystem::path& home, const std::string& repository) {
  const std::filesystem::path folder = home / "hub" / repository;
  const std::string revision = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
  std::filesystem::create_directories(folder / "refs");
  std::ofstream(folder / "refs/main") << revision;
  std::filesystem::create_directories(folder / "snapshots");
  std::filesystem::copy(tiny_model(), folder / "snapshots" / revision,
                        std::filesystem::copy_options::recursive);
  return folder;
}

Answer with_cache(const std::filesystem::path& home, const std::vector<std::string>& arguments) {
  setenv("HF_HOME", home.c_str(), 1);
  const Answer answer = test::heed(arguments);
  unsetenv("HF_HOME");
  return answer;
}

TEST(ModelsCommand, AModelOfTheHubsCacheIsCalledByItsName) {
  const std::filesystem::path home = test::scratch() / "hub-home";
  cached(home, "models--openai-community--gpt2");
  for (const char* name : {"openai-community/gpt2", "gpt2"}) {
    const Answer answer =
        with_cache(home, {"look", "the cat", "--model", name, "--format", "json"});
    ASSERT_EQ(answer.status, 0) << answer.error;
    EXPECT_EQ(json::parse(answer.out)["model"], "openai-community/gpt2");
  }
  EXPECT_THAT(with_cache(home, {"models"}).out, testing::HasSubstr("openai-community/gpt2 "));
}

TEST(ModelsCommand, ANameOfTwoOwnersNeedsTheOwner) {
  const std::filesystem::path home = test::scratch() / "two-owners";
  cached(home, "models--me--gpt2");
  cached(home, "models--you--gpt2");
  EXPECT_EQ(with_cache(home, {"look", "the cat", "--model", "me/gpt2"}).status, 0);
  const Answer answer = with_cache(home, {"look", "the cat", "--model", "gpt2"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(
      answer.error,
      "heed look: --model is 'gpt2', expected me/gpt2 or you/gpt2, which both have this name\n");
}

// A command that is cut into lines cannot be copied.
TEST(ModelsCommand, TheCommandThatConvertsWeightsStandsOnOneLine) {
  const std::filesystem::path folder = test::scratch() / "pickled/one";
  std::filesystem::create_directories(folder);
  std::filesystem::copy(tiny_model() + "/config.json", folder);
  std::ofstream(folder / "pytorch_model.bin") << "PK";
  setenv("HEED_MODELS", folder.parent_path().c_str(), 1);
  const std::string text = test::heed({"models"}).out;
  unsetenv("HEED_MODELS");
  const std::size_t begin = text.find("this writes it: python3 -c \"");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_THAT(text.substr(begin, text.find('\n', begin) - begin),
              testing::EndsWith("{'format': 'pt'})\""));
}

TEST(ModelsCommand, SaysWhatKeepsAFolderFromBeingUsed) {
  const std::filesystem::path folder = test::scratch() / "unusable";
  const auto copy = [&](const char* name) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy(tiny_model(), folder / name, std::filesystem::copy_options::recursive);
    return folder / name;
  };
  copy("whole");
  std::ofstream(copy("other") / "config.json") << R"({"model_type": "mamba"})";
  std::filesystem::remove(copy("wordless") / "tokenizer.json");
  std::filesystem::resize_file(copy("cut") / "model.safetensors", 2000);
  setenv("HEED_MODELS", folder.c_str(), 1);
  const Answer text = test::heed({"models"});
  const json list = json::parse(test::heed({"models", "--json"}).out);
  std::map<std::string, std::string> problems;
  for (const json& model : list)
    if (!model["built_in"]) problems[model["name"]] = model["problem"];
  for (const auto& [name, problem] : problems)
    if (name != "wordless") {
      const Answer look = test::heed({"look", "the cat", "--model", (folder / name).string()});
      EXPECT_EQ(look.error, problem.empty() ? "" : "heed look: " + problem + "\n");
    }
  unsetenv("HEED_MODELS");
  EXPECT_EQ(problems["whole"], "");
  EXPECT_THAT(problems["other"], testing::HasSubstr("model_type is 'mamba'"));
  EXPECT_THAT(problems["cut"], testing::HasSubstr("model.safetensors"));
  EXPECT_EQ(problems["wordless"], "it has no tokenizer, so only token ids can be read");
  EXPECT_THAT(text.out, testing::HasSubstr("problem: it has no tokenizer"));
}

// `heed train` writes RUN/model.
TEST(ModelsCommand, ATrainedModelIsCalledByItsRun) {
  const std::filesystem::path run = test::scratch() / "novels";
  std::filesystem::create_directories(run);
  std::filesystem::copy(tiny_model(), run / "model", std::filesystem::copy_options::recursive);
  std::ofstream(run / "run.json") << "{}";
  const Answer answer = test::heed({"look", "the cat", "--model", (run / "model").string()});
  EXPECT_THAT(answer.out, testing::StartsWith("novels  GPT-2"));
}

// The program alone in another folder, like a copy on another machine.
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
  EXPECT_EQ(
      test::content(error),
      "heed look: model: none came with this program, looked in " + root +
          "/share/heed/models and " + root +
          "/bin/share/heed/models; name a model's folder, or a folder of models in $HEED_MODELS\n");
}

}  // namespace
}  // namespace heed::cli
