// What a long command says of how far it is.
#include "cli/terminal/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/io/npy.h"
#include "support/places.h"

namespace heed::cli {
namespace {

TEST(Progress, TellsCountRateAndTimeLeft) {
  EXPECT_EQ(progress_text("cases", 5, 12, 2.5), "cases 5/12  2/s  4 s left");
  EXPECT_EQ(progress_text("cases", 1, 401, 30), "cases 1/401  0.0333/s  3 h 20 min left");
}

TEST(Progress, TellsTheTimeWhereNothingCanBeCounted) {
  EXPECT_EQ(progress_text("attention", 0, 0, 187), "attention  3 min 07 s");
  EXPECT_EQ(progress_text("cases", 0, 12, 3), "cases 0/12  3 s");
}

// `script` gives the program a terminal; its stdout and stderr are one there.
TEST(Progress, StandsOnATerminalAfterTwoSecondsAndGoesAway) {
  const std::string out = test::in_scratch("terminal");
  const std::string bench = HEED_BINARY_DIR
      "/heed bench attention --threads 1 --case plain-n64-d64 plain-n4096-d64 "
      "causal-n4096-d64 grouped-n4096-d64 plain-n4096-d128 causal-n4096-d128 "
      "grouped-n4096-d128";  // some seconds on a fast machine, too
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  ASSERT_EQ(std::system(("script -qec '" + bench + "' /dev/null > " + out).c_str()), 0);
  const std::string shown = test::content(out);
  const std::size_t at = shown.find("\rtiming ");
  ASSERT_NE(at, std::string::npos) << shown;
  EXPECT_NE(shown.find("/7  ", at), std::string::npos) << shown;
  EXPECT_NE(shown.find("\r\x1b[K", at), std::string::npos) << shown;
}

TEST(Progress, IsSilentElsewhere) {
  const test::Answer answer =
      test::heed({"bench", "attention", "--case", "plain-n64-d64", "plain-n256-d64"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.error.find('\r'), std::string::npos);
}

// What the program shows on a terminal of its own.
std::string on_a_terminal(const std::string& arguments) {
  const std::string out = test::in_scratch("terminal");
  const std::string command = HEED_BINARY_DIR "/heed " + arguments;
  EXPECT_EQ(std::system(("script -qec '" + command + "' /dev/null >" + out).c_str()), 0);
  return test::content(out);
}

// The reference kernel takes seconds for what others do in milliseconds.
std::string deep_model() {
  const auto tokenizer = train_byte_bpe("the cat", {.vocabulary_size = 258});
  const nlohmann::json config = {{"model_type", "gpt2"},
                                 {"architectures", {"GPT2LMHeadModel"}},
                                 {"vocab_size", tokenizer->vocabulary_size()},
                                 {"n_positions", 2048},
                                 {"n_embd", 64},
                                 {"n_layer", 24},
                                 {"n_head", 8}};
  const std::string path = test::in_scratch("deep");
  save_model(path, *make_model(config.dump(), 1), tokenizer.get(), DType::kF32);
  return path;
}

TEST(Progress, OfALookCountsLayers) {
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  const std::string text = test::in_scratch("long.txt");
  std::ofstream(text) << std::string(1500, 'a');
  const std::string shown = on_a_terminal("look --file " + text + " --model " + deep_model() +
                                          " --kernel reference --threads 1 --rows 1");
  EXPECT_THAT(shown,
              testing::ContainsRegex("\rthe model: layers [0-9]+/24  [0-9.]+/s  [^\r]* left"));
  EXPECT_THAT(shown, testing::HasSubstr("\r\x1b[K"));
}

TEST(Progress, OfAttendTellsTheTime) {
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  const std::string array = test::in_scratch("array.npy");
  write_npy(array, Tensor::zeros({1, 8, 3072, 32}));
  const std::string shown =
      on_a_terminal("attend " + array + " " + array + " " + array +
                    " --kernel reference --threads 1 -o " + test::in_scratch("out.npy"));
  EXPECT_THAT(shown, testing::ContainsRegex("\rattention  [0-9]+ s"));
}

TEST(Progress, OfABenchmarkNamesTheCase) {
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  const std::string shown =
      on_a_terminal("bench attention --case plain-n256-d128 --kernel reference --threads 1");
  EXPECT_THAT(shown, testing::ContainsRegex("\rtiming plain-n256-d128  [0-9]+ s"));
}

TEST(Progress, OfGenerationCountsTokens) {
  if (std::system("command -v script > /dev/null") != 0) GTEST_SKIP() << "no `script`";
  const std::string shown =
      on_a_terminal("generate aaa --json -n 2040 --threads 1 --model " + deep_model());
  EXPECT_THAT(shown, testing::ContainsRegex("\rtokens [0-9]+/2040  [0-9.]+/s  [^\r]* left"));
}

}  // namespace
}  // namespace heed::cli
