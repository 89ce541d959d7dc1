// heed generate as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/wording.h"
#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/model.h"

namespace heed {
namespace {

using nlohmann::json;
using test::Answer;
using test::heed;
using test::letters_folder;

Answer generate(std::vector<std::string> arguments, const std::string& shell = "") {
  arguments.insert(arguments.begin(), {"generate", "--model", letters_folder("letters")});
  return heed(arguments, shell);
}

TEST(GenerateProgram, PrintsPromptAndContinuation) {
  const Answer answer = generate({"abc", "-n", "7"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.out.size(), 3U + 7U + 1U);
  EXPECT_EQ(answer.out.substr(0, 3), "abc");
  EXPECT_EQ(answer.out.back(), '\n');
}

TEST(GenerateProgram, HoldsWeightsInTheTypeThatIsAsked) {
  const auto probabilities = [](const char* dtype) {
    std::vector<double> of;
    const Answer answer =
        generate({"abc", "-n", "5", "--temperature", "0", "--json", "--dtype", dtype});
    EXPECT_EQ(answer.status, 0) << answer.error;
    const json parsed = json::parse(answer.out);
    for (const json& token : parsed["tokens"]) of.push_back(token["probability"]);
    return of;
  };
  const std::vector<double> whole = probabilities("f32");
  const json by_file =
      json::parse(generate({"abc", "-n", "5", "--temperature", "0", "--json"}).out);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(by_file["tokens"][i]["probability"], whole[i]);
  for (const char* dtype : {"f16", "bf16"}) {
    EXPECT_NE(probabilities(dtype), whole) << dtype;
    EXPECT_NEAR(probabilities(dtype)[0], whole[0], 0.05) << dtype;
  }
}

TEST(GenerateProgram, JsonHasEveryTokenAndWhyItStopped) {
  const json answer = json::parse(generate({"abc", "-n", "7", "--json"}).out);
  EXPECT_EQ(answer.size(), 4U);
  EXPECT_EQ(answer["prompt"], "abc");
  EXPECT_EQ(answer["stopped"], "length");
  ASSERT_EQ(answer["tokens"].size(), 7U);
  std::string text;
  for (const json& token : answer["tokens"]) {
    EXPECT_EQ(token.size(), 4U);
    text += token["text"].get<std::string>();
    EXPECT_EQ(token["id"], token["text"].get<std::string>()[0] - 'a');
    EXPECT_GT(token["probability"], 0);
    EXPECT_LE(token["probability"], 1);
    EXPECT_GE(token["entropy"], 0);
  }
  EXPECT_EQ(answer["text"], text);
  EXPECT_EQ(generate({"abc", "-n", "7"}).out, "abc" + text + "\n");
}

TEST(GenerateProgram, AnOptionThatIsGivenTwiceCountsAsGivenLast) {
  EXPECT_EQ(generate({"abc", "-n", "7", "-n", "3"}).out, generate({"abc", "-n", "3"}).out);
}

TEST(GenerateProgram, TheSeedDecidesTheTextOnAnyNumberOfThreads) {
  const std::string first = generate({"abc", "--seed", "1", "--threads", "1"}).out;
  EXPECT_EQ(generate({"abc", "--seed", "1", "--threads", "2"}).out, first);
  EXPECT_NE(generate({"abc", "--seed", "2"}).out, first);
}

TEST(GenerateProgram, TellsWhenThePositionsEnd) {
  const json answer = json::parse(generate({"abc", "--json", "--no-crop"}).out);
  EXPECT_EQ(answer["stopped"], "positions");
  EXPECT_EQ(answer["tokens"].size(), 22U);
  EXPECT_THAT(generate({"abc", "--no-crop"}).error, testing::HasSubstr("stopped after 22 tokens"));
}

TEST(GenerateProgram, EndsBeforeAStopString) {
  const std::string whole = json::parse(generate({"abc", "--json"}).out)["text"];
  const std::string stop = whole.substr(6, 2);
  const std::size_t end = whole.find(stop);
  const json answer =
      json::parse(generate({"abc", "--json", "--stop", "abababab", "--stop", stop}).out);
  EXPECT_EQ(answer["stopped"], "stop");
  EXPECT_EQ(answer["text"], whole.substr(0, end));
  EXPECT_EQ(generate({"abc", "--stop", stop}).out, "abc" + whole.substr(0, end) + "\n");
}

TEST(GenerateProgram, FiltersReachTheSampler) {
  const std::string greedy = generate({"abc", "--temperature", "0"}).out;
  EXPECT_EQ(generate({"abc", "--top-k", "1"}).out, greedy);
  EXPECT_EQ(generate({"abc", "--top-p", "1e-9"}).out, greedy);
  EXPECT_EQ(generate({"abc", "--min-p", "1"}).out, greedy);
  EXPECT_NE(generate({"abc", "--temperature", "0", "--repetition-penalty", "50"}).out, greedy);
  EXPECT_NE(generate({"abc"}).out, greedy);
}

TEST(GenerateProgram, BeamsFindAMoreProbableText) {
  const auto log_probability = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"abc", "-n", "7", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Answer answer = generate(arguments);
    EXPECT_EQ(answer.status, 0) << answer.error;
    double sum = 0;
    const json parsed = json::parse(answer.out);
    for (const json& token : parsed["tokens"]) sum += std::log(token["probability"].get<double>());
    if (parsed.contains("score")) {
      EXPECT_NEAR(parsed["score"].get<double>(), sum, 1e-6);
    }
    return sum;
  };
  const double greedy = log_probability({"--temperature", "0"});
  EXPECT_GE(log_probability({"--beams", "4", "--length-penalty", "0"}), greedy);
  EXPECT_EQ(generate({"abc", "-n", "7", "--beams", "4"}).out.substr(0, 3), "abc");
  EXPECT_EQ(generate({"abc", "-n", "7", "--beams", "1"}).out,
            generate({"abc", "-n", "7", "--temperature", "0"}).out);
}

TEST(GenerateProgram, TheCacheMayBeNarrow) {
  const auto probability = [](const char* type) {
    const json answer = json::parse(
        generate({"abcdef", "-n", "1", "--temperature", "0", "--json", "--cache-dtype", type}).out);
    return answer["tokens"][0]["probability"].get<double>();
  };
  const double exact = probability("f32");
  EXPECT_NEAR(probability("i8"), exact, 0.05);
  EXPECT_NE(probability("i8"), exact);
}

TEST(GenerateProgram, ReadsThePromptFromAFileOrStdin) {
  std::ofstream(test::scratch() / "prompt.txt") << "cab";
  const std::string expected = generate({"cab"}).out;
  EXPECT_EQ(generate({"--file", test::scratch() / "prompt.txt"}).out, expected);
  EXPECT_EQ(generate({"--file", "-"}, "< " + (test::scratch() / "prompt.txt").string()).out,
            expected);
}

TEST(GenerateProgram, AnEmptyPromptStartsFromTheFirstToken) {
  const Answer answer = heed(
      {"generate", "--model", letters_folder("first", ", \"bos_token_id\": 4"), "", "-n", "5"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out.size(), 6U);
}

TEST(GenerateProgram, HelpHasAnExample) {
  const Answer answer = heed({"generate", "--help"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_NE(answer.out.find("heed generate \"Once upon a time\" -n 50 --temperature 0 --json\n"),
            std::string::npos);
}

struct Bad {
  std::vector<std::string> arguments;
  const char* line;
};

std::vector<Bad> bad_inputs() {
  return {
      {{}, "no prompt is given, expected one of PROMPT, --file and --ids"},
      {{"abc", "--file", "x"},
       "several prompts are given, expected one of PROMPT, --file and --ids"},
      {{"--ids", "3,11"}, "--ids is 11, expected 0 to 10 (the vocabulary)"},
      {{"abc", "--temperature", "-1"},
       "--temperature is -1, expected a finite number of at least 0 (greedy)"},
      {{"abc", "--top-k", "0"}, "--top-k is 0, expected at least 1"},
      {{"abc", "--top-p", "0"}, "--top-p is 0, expected above 0 and at most 1"},
      {{"abc", "--top-p", "1.01"}, "--top-p is 1.01, expected above 0 and at most 1"},
      {{"abc", "--min-p", "-0.1"}, "--min-p is -0.1, expected 0 to 1"},
      {{"abc", "--repetition-penalty", "0"}, "--repetition-penalty is 0, expected above 0"},
      {{"abc", "-n", "0"}, "-n is 0, expected at least 1"},
      {{"abc", "--beams", "0"}, "--beams is 0, expected 1 to 4096"},
      {{"abc", "--length-penalty", "2"}, "--length-penalty needs --beams above 1"},
      {{"abc", "--beams", "2", "--seed", "1"},
       "--seed cannot be used with --beams, which draws nothing"},
      {{"abc", "--temperature", "0", "--top-k", "3"}, "--top-k needs --temperature above 0"},
      {{"abc", "--stop", ""}, "--stop is empty, expected at least one character"},
      {{"abcabcabcabcabcabcabcabca", "--no-crop"},
       "PROMPT is 25 tokens long, expected at most 24 (the model's positions)"},
      {{""},
       "PROMPT is empty, expected at least one character (the model has no first token to start "
       "from)"},
  };
}

TEST(GenerateProgram, BadInputIsOneLineAndStatusTwo) {
  for (const auto& [arguments, line] : bad_inputs()) {
    const Answer answer = generate(arguments);
    EXPECT_EQ(answer.status, 2) << line;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.error, std::string("heed generate: ") + line + "\n");
  }
}

TEST(GenerateProgram, TextsThatCannotBeReadAreOneLineAndStatusTwo) {
  const std::vector<std::vector<std::string>> all = {{"axb"}, {"\xFF"}};
  for (const auto& arguments : all) {
    const Answer answer = generate(arguments);
    EXPECT_EQ(answer.status, 2) << answer.error;
    EXPECT_EQ(std::ranges::count(answer.error, '\n'), 1) << answer.error;
  }
}

TEST(GenerateProgram, AModelWithoutTokenizerIsAnError) {
  const std::string path = letters_folder("ids");
  std::filesystem::remove(std::filesystem::path(path) / "tokenizer.json");
  const Answer answer = heed({"generate", "--model", path, "abc"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed generate: ids has no tokenizer, expected a model that reads text, or --ids\n");
  const std::vector<std::string> greedy = {"--ids", "0,1,2", "-n", "3", "--temperature", "0"};
  const auto with = [&](const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "--model", model});
    more.insert(more.end(), greedy.begin(), greedy.end());
    return heed(more).out;
  };
  const json tokens = json::parse(with(path, {"--json"}))["tokens"];
  std::string ids;
  for (const json& token : tokens) ids += (ids.empty() ? "" : ",") + token["id"].dump();
  EXPECT_EQ(with(path, {}), ids + "\n");
  EXPECT_EQ(json::parse(with(letters_folder("letters"), {"--json"}))["prompt"], "abc");
  EXPECT_EQ(with(letters_folder("letters"), {}),
            generate({"abc", "-n", "3", "--temperature", "0"}).out);
}

// A large context, so that there is time to interrupt.
TEST(GenerateProgram, CtrlCKeepsWhatWasWritten) {
  const auto path = test::scratch() / "long";
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 64,
    "n_positions": 16384, "vocab_size": 11})",
                                1);
  save_model(path, *model, train_characters("abcdefghijk").get(), DType::kF32);
  const std::string out = test::scratch() / "out";
  const Answer answer = heed(
      {"generate", "--model", path, "abc", "-n", "16000"},
      "& child=$!; while [ ! -s " + out + " ]; do sleep 0.05; done; kill -INT $child; wait $child");
  EXPECT_EQ(answer.status, 130);
  ASSERT_GE(answer.out.size(), 4U);
  EXPECT_EQ(answer.out.substr(0, 3), "abc");
  EXPECT_EQ(answer.error,
            "heed generate: interrupted after " + number_of(answer.out.size() - 4, "token") + "\n");
}

}  // namespace
}  // namespace heed
