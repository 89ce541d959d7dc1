// An option without effect is rejected, with a message about what it needs.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using test::expect_refused;

void look_refused(std::vector<std::string> options, const std::string& message) {
  options.insert(options.begin(), {"look", "the cat", "--model", test::tiny_model()});
  expect_refused(options, message);
}

TEST(Effects, WhatIsOfPicturesNeedsOne) {
  look_refused({"--width", "640"}, "--width needs --format svg or png");
  look_refused({"--theme", "dark", "--format", "html"}, "--theme needs --format svg or png");
}

TEST(Effects, WhatListsKeysNeedsALists) {
  for (const char* format : {"npy", "svg", "html"})
    for (const char* option : {"--top", "--rows"})
      look_refused({option, "3", "--format", format, "-o", test::in_scratch("nothing")},
                   std::string(option) + " needs --format text, json or tsv");
}

TEST(Effects, WhatIsOfTextsNeedsOne) {
  const std::pair<const char*, const char*> options[] = {
      {"--cut", "last"}, {"--pair", "the mat"}, {"--target", "the mat"}};
  for (const auto& [option, value] : options)
    expect_refused({"look", "--ids", "1,2", option, value, "--model", test::tiny_model()},
                   std::string(option) + " needs TEXT or --file");
}

TEST(Effects, NodeTestsHaveTypesOfTheirOwn) {
  expect_refused({"check", "onnx", ".", "--dtype", "f16"},
                 "--dtype is given with onnx, expected it with model");
}

TEST(Effects, ColoursAreOfText) {
  look_refused({"--color", "always", "--format", "json"}, "--color needs --format text");
}

TEST(Effects, WhatIsOfArraysNeedsOne) {
  for (const char* what : {"weights", "logits"})
    look_refused({"--what", what}, "--what needs --format npy");
  look_refused({"--layer", "0", "--format", "npy", "--what", "logits"},
               "--layer needs --what weights");
}

TEST(Effects, AColumnHasAllItsRows) {
  look_refused({"--to", "cat", "--rows", "2"}, "--rows cannot be used with --to");
  look_refused({"--to", "cat", "--format", "npy", "-o", test::in_scratch("nothing.npy")},
               "--to cannot be used with --format npy, which writes all weights");
}

TEST(Effects, WhatNamesRowsOrKeysDoesSoAlone) {
  look_refused({"--who", "cat", "--rows", "2"}, "--rows cannot be used with --who");
  look_refused({"--who", "cat", "--to", "the", "--top", "2"},
               "--top cannot be used with --who and --to");
  look_refused({"--view", "look/L0.H0/i=1/j=0", "--top", "2"},
               "--top cannot be used with j= of --view");
}

TEST(Effects, ACellAsTsvIsItsLine) {
  const test::Answer answer =
      test::heed({"look", "the cat", "--model", test::tiny_model(), "--layer", "0", "--head", "0",
                  "--who", "0", "--to", "0", "--format", "tsv"});
  EXPECT_EQ(answer.out,
            "layer\thead\tquery\tquery_token\tkey\tkey_token\tweight\n0\t0\t0\tthe\t0\tthe\t1\n");
}

TEST(Effects, ColoursThatAreAskedForGoIntoAFile) {
  const std::string file = test::in_scratch("coloured");
  ASSERT_EQ(test::heed(
                {"look", "the cat", "--model", test::tiny_model(), "--color", "always", "-o", file})
                .status,
            0);
  EXPECT_NE(test::content(file).find("\x1b["), std::string::npos);
}

TEST(Effects, PartsOfAProblemNeedTheWhole) {
  expect_refused({"explain", "--shape", "1,2,2,4,4,4,4", "--block-size", "2,2"},
                 "--block-size needs --blocks");
  expect_refused({"explain", "--shape", "1,2,2,4,4,4,4", "--seed", "1"}, "--seed needs --dropout");
  expect_refused({"explain", "--shape", "1,2,2,4,4,4,4", "--dropout-offset", "1"},
                 "--dropout-offset needs --dropout");
}

TEST(Effects, ShapesAloneHaveNoFormsOfFiles) {
  for (const char* option :
       {"--page-table", "--ring-begin", "--k-scales", "--v-scales", "--packed-q", "--packed-k"})
    expect_refused({"explain", "--shape", "1,2,2,4,4,4,4", option, "x.npy"},
                   std::string(option) + " needs Q.npy K.npy V.npy");
  expect_refused({"explain", "Q.npy", "--shape", "1,2,2,4,4,4,4"},
                 "files and --shape are given, expected either Q.npy K.npy V.npy or --shape "
                 "B,H,G,Tq,Tk,D,Dv");
  expect_refused({"explain", "Q.npy"},
                 "only Q.npy is given (Q.npy), expected either Q.npy K.npy V.npy or --shape "
                 "B,H,G,Tq,Tk,D,Dv");
}

TEST(Effects, KeysOfATrainingThatDoNothingAreNamed) {
  const auto train = [](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), {"train", "--data", "x", "-o", test::in_scratch("no-run")});
    expect_refused(options, message);
  };
  train({"--vocabulary", "300"}, "--vocabulary needs --tokenizer byte-bpe or word-piece");
  train({"--sample-prompt", "The"}, "--sample-prompt needs --sample-every");
  train({"--validation", "0", "--evaluate-sequences", "3"},
        "--evaluate-sequences needs --validation above 0");
  train({"--layers", "3", "--start-from", "x"},
        "--layers and --start-from both say what the run begins with, expected one of them");
  train({"--initial-positions", "sinusoidal", "--start-from", "x"},
        "--initial-positions and --start-from both say what the run begins with, expected one of "
        "them");
}

TEST(Effects, TheLikeliestTokenIsNotDrawn) {
  const std::pair<const char*, const char*> options[] = {
      {"--seed", "1"}, {"--top-k", "3"}, {"--top-p", "0.5"}, {"--min-p", "0.1"}};
  for (const auto& [option, value] : options)
    expect_refused({"generate", "the", "--temperature", "0", option, value},
                   std::string(option) + " needs --temperature above 0");
}

TEST(Effects, ABenchmarkTakesItsOwnOptions) {
  expect_refused({"bench", "attention", "--model", "tales"},
                 "--model is given with attention, expected it with model, inspect, tokenize");
  expect_refused({"bench", "decode", "--config", "x"},
                 "--config is given with decode, expected it with model, inspect, train");
  expect_refused(
      {"bench", "inspect", "--case", "a"},
      "--case is given with inspect, expected it with attention, backward, decode, matmul, model");
  expect_refused({"bench", "model", "--kernel", "portable"},
                 "--kernel is given with model, expected it with attention, backward, decode");
  expect_refused({"bench", "attention", "--width", "8"},
                 "--width is given with attention, expected it with train");
}

}  // namespace
}  // namespace heed::cli
