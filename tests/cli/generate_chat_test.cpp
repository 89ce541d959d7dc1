// heed generate with a model's chat template, and with several prompts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/inputs.h"
#include "cli/program.h"

namespace heed {
namespace {

using nlohmann::json;
using test::Answer;
using test::heed;
using test::letters_folder;

Answer generated(const std::filesystem::path& model, std::vector<std::string> more) {
  more.insert(more.begin(),
              {"generate", "--model", model.string(), "-n", "6", "--temperature", "0"});
  return heed(more);
}

// A chat is "k", the system's message, "j", the user's, "k".
std::filesystem::path chat_model() {
  const std::filesystem::path path = letters_folder("chat");
  std::ofstream(path / "tokenizer_config.json")
      << json{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"bos_token", "k"},
              {"chat_template",
               "{% for message in messages %}{{ bos_token if message.role == 'system' else 'j' }}"
               "{{ message.content }}{% endfor %}{% if add_generation_prompt %}k{% endif %}"}};
  return path;
}

TEST(GenerateProgram, AChatIsWhatTheTemplateMakesOfTheMessage) {
  const Answer chat = generated(chat_model(), {"--chat", "abc"});
  const Answer plain = generated(chat_model(), {"jabck"});
  EXPECT_EQ("jabck" + chat.out, plain.out);
  EXPECT_EQ(chat.error, "heed generate: the chat template added no special token\n");
  const json whole =
      json::parse(generated(chat_model(), {"--chat", "abc", "--system", "de", "--json"}).out);
  EXPECT_EQ(whole["prompt"], "kdejabck");
}

TEST(GenerateProgram, TheTemplatesFileComesFirst) {
  const std::filesystem::path path = letters_folder("chat_file");
  std::filesystem::copy_file(chat_model() / "tokenizer_config.json", path / "tokenizer_config.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(path / "chat_template.jinja") << "{{ messages[0].content }}b\n";
  EXPECT_EQ(json::parse(generated(path, {"--chat", "a", "--json"}).out)["prompt"], "ab");
}

TEST(GenerateProgram, OfSeveralTemplatesTheDefaultIsTaken) {
  const std::filesystem::path path = letters_folder("chat_list");
  std::ofstream(path / "tokenizer_config.json") << json{
      {"chat_template",
       {{{"name", "tool_use"}, {"template", "a"}}, {{"name", "default"}, {"template", "b"}}}}};
  EXPECT_EQ(json::parse(generated(path, {"--chat", "a", "--json"}).out)["prompt"], "b");
}

TEST(GenerateProgram, AModelWithoutATemplateSaysWhatWasSought) {
  const std::filesystem::path path = letters_folder("no_chat");
  const Answer answer = generated(path, {"--chat", "abc"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed generate: --chat: " + path.string() +
                ": has no chat template, expected chat_template.jinja, chat_template in "
                "tokenizer_config.json, or tokenizer.chat_template in a GGUF file\n");
}

TEST(GenerateProgram, AnErrorOfTheTemplateNamesItsLine) {
  const std::filesystem::path path = letters_folder("wrong_chat");
  std::ofstream(path / "chat_template.jinja") << "a\n{{ messages | nothing }}";
  const Answer answer = generated(path, {"--chat", "abc"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error, "heed generate: " + (path / "chat_template.jinja").string() +
                              ": line 2: a filter 'nothing', which heed's templates do not have\n");
}

TEST(GenerateProgram, SeveralPromptsAreWrittenSideBySide) {
  const std::filesystem::path path = letters_folder("plain");
  const std::string one = generated(path, {"abc"}).out, other = generated(path, {"de"}).out;
  EXPECT_EQ(generated(path, {"abc", "de"}).out, one + "\n" + other);
  const json both = json::parse(generated(path, {"abc", "de", "--json"}).out);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1], json::parse(generated(path, {"de", "--json"}).out));
}

TEST(LookProgram, AChatIsLookedAtAsTheTemplateWritesIt) {
  const auto tokens = [](std::vector<std::string> more, const std::string& shell = "") {
    more.insert(more.begin(), {"look", "--model", chat_model().string(), "--json"});
    return json::parse(heed(more, shell).out)["tokens"].size();
  };
  EXPECT_EQ(tokens({"--chat", "abc"}), tokens({"jabck"}));
  const std::filesystem::path file = chat_model() / "message.txt";
  std::ofstream(file) << "abc";
  EXPECT_EQ(tokens({"--chat", "-"}, "< " + file.string()), tokens({"jabck"}));
}

}  // namespace
}  // namespace heed
