// Errors about arguments, in the form of every command: option, found, expected.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/program.h"
#include "cli/tiny_model.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::expect_refused;
using test::heed;

TEST(Arguments, AWholeNumberHasDigitsOnly) {
  for (const char* seed : {"-1", "0x10", "1e3", ""})
    expect_refused({"generate", "abc", "--seed", seed},
                   fmt::format("--seed is \"{}\", expected a whole number from 0", seed));
  expect_refused({"look", "abc", "--layer", "one"}, "--layer is \"one\", expected a whole number");
  expect_refused({"look", "--ids", "1,x"}, "--ids is \"x\", expected a whole number");
  expect_refused({"train", "-o", "x", "--steps", "2.5"},
                 "--steps is \"2.5\", expected a whole number");
}

TEST(Arguments, JsonAndAnotherFormatContradictEachOther) {
  const auto message = [](const char* format) {
    return fmt::format("--json and --format {} contradict each other, expected one of them",
                       format);
  };
  expect_refused({"look", "abc", "--json", "--format", "tsv"}, message("tsv"));
  expect_refused({"look", "abc", "--format=tsv", "--json"}, message("tsv"));
  expect_refused({"embed", "abc", "--model", "m", "--json", "--format", "npy"}, message("npy"));
  expect_refused({"tokenize", "abc", "--format", "text", "--json"}, message("text"));
}

TEST(Arguments, AWholeNumberStaysInItsRange) {
  expect_refused({"look", "abc", "--threads", "0"},
                 "--threads is \"0\", expected a whole number from 1 to 4096");
  expect_refused({"serve", "--port", "70000"},
                 "--port is \"70000\", expected a whole number from 0 to 65535");
  expect_refused({"bench", "train", "--layers", "0"},
                 "--layers is \"0\", expected a whole number from 1");
}

TEST(Arguments, ALimitOfTheMachineIsToldToWhoPassesIt) {
  for (const char* seed : {"18446744073709551616", "99999999999999999999"})
    expect_refused({"generate", "abc", "--seed", seed},
                   fmt::format("--seed is \"{}\", expected a whole number from 0 to "
                               "18446744073709551615",
                               seed));
  expect_refused({"look", "abc", "--layer", "9999999999"},
                 "--layer is \"9999999999\", expected a whole number of at most 2147483647");
  expect_refused({"look", "abc", "--layer", "-9999999999"},
                 "--layer is \"-9999999999\", expected a whole number from -2147483648");
}

TEST(Arguments, WhatTheLibraryRefusesIsNamedByItsOption) {
  const auto generate = [](const char* option, const char* value, const std::string& message) {
    expect_refused({"generate", "the", "--model", test::tiny_model(), option, value}, message);
  };
  generate("--top-p", "2", "--top-p is 2, expected above 0 and at most 1");
  generate("--temperature", "-1",
           "--temperature is -1, expected a finite number of at least 0 (greedy)");
  generate("--repetition-penalty", "0", "--repetition-penalty is 0, expected above 0");
  expect_refused({"look", "the", "--model", test::tiny_model(), "--layer", "9"},
                 "--layer is 9, expected 0 to 1 (tiny has 2 layers)");
  expect_refused(
      {"look", "the", "--model", test::tiny_model(), "--view", "map/L0.H0"},
      "--view is \"map/L0.H0\", expected an address of the page, as in look/L2.H4/i=17/j=3");
  expect_refused({"look", "--ids", "5,9999", "--model", test::tiny_model()},
                 "--ids is 9999, expected 0 to 269 (tiny's vocabulary)");
  expect_refused({"train", "-o", "x", "--data", "y", "--width", "10", "--heads", "3"},
                 "--heads is 3, expected a divisor of width (10)");
  expect_refused({"train", "-o", "x", "--data", "y", "--layers", "0"},
                 "--layers is 0, expected at least 1");
}

TEST(Arguments, AFieldOfTheOperatorIsNamedByItsOption) {
  const auto explain = [](const char* option, const char* value, const std::string& message) {
    expect_refused({"explain", "--shape", "1,2,2,4,4,4,4", option, value}, message);
  };
  explain("--softcap", "-1", "--softcap is -1, expected a positive number, or 0 for none");
  explain("--scale", "nan", "--scale is nan, expected a finite number");
  explain("--dropout", "2", "--dropout is 2, expected 0 to 1");
  explain("--window", "-5,0", "--window: left is -5, expected 0 to 2^60 keys, or -1 for open");
  explain("--kernel", "abacus",
          "--kernel is 'abacus', expected one of cpu-avx512, cpu-avx2, portable, reference");
}

TEST(Arguments, ATextThatIsNoUtf8IsNamedByItsOption) {
  const std::string file = test::in_scratch("latin1.txt");
  std::ofstream(file) << "ab\xe9";
  const std::string wrong = ": byte 2 is 0xE9, which is not valid UTF-8 there";
  for (const char* command : {"look", "generate", "tokenize"})
    expect_refused({command, "--file", file, "--model", test::tiny_model()}, "--file" + wrong);
  for (const char* command : {"look", "tokenize"})
    expect_refused({command, "ab\xe9", "--model", test::tiny_model()}, "TEXT" + wrong);
  expect_refused({"generate", "ab\xe9", "--model", test::tiny_model()}, "PROMPT" + wrong);
}

// Files of [1, 2, 6, 4], with one that is shorter.
std::vector<std::string> attend_on_files(std::vector<std::string> more) {
  for (const char* name : {"Q", "K", "V", "D"})
    write_npy(test::scratch() / (std::string(name) + ".npy"), Tensor::zeros({1, 2, 6, 4}));
  write_npy(test::in_scratch("short.npy"), Tensor::zeros({1, 2, 5, 4}));
  write_npy(test::in_scratch("f64.npy"), Tensor::zeros({1, 2, 6, 4}, DType::kF64));
  std::vector<std::string> arguments = {"attend", test::in_scratch("Q.npy"),
                                        test::in_scratch("K.npy"), test::in_scratch("V.npy")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Arguments, AFileOfTheBackwardPassIsNamedByItsOption) {
  const auto backward = [](const char* file, const std::string& message) {
    expect_refused(attend_on_files({"--grad", test::in_scratch(file), "--grad-out",
                                    test::in_scratch("gradients")}),
                   message);
  };
  backward("short.npy", "shape of --grad is [1, 2, 5, 4], expected [B, H, Tq, Dv] = [1, 2, 6, 4]");
  backward("f64.npy", "--grad is f64, expected f32 (q is f32)");
}

TEST(Arguments, AFileOfKeysIsNamedAsItIsGiven) {
  std::vector<std::string> arguments = attend_on_files({"-o", test::in_scratch("O.npy")});
  arguments[3] = test::in_scratch("short.npy");
  expect_refused(arguments, "shape[2] of V is 5, expected 6 (k's tokens)");
  write_npy(test::in_scratch("bytes.npy"), Tensor::zeros({1, 2, 6, 4}, DType::kI8));
  arguments[3] = test::in_scratch("bytes.npy");
  expect_refused(
      arguments,
      "--v-scales is not given, expected f32 [1, 2, 6, 1] (v is i8: one for each 32 elements "
      "of a row)");
}

// Words of the explanation stay as they are.
TEST(Arguments, OnlyWhatIsWrongIsNamedByItsFile) {
  std::vector<std::string> arguments = attend_on_files({"-o", test::in_scratch("O.npy")});
  write_npy(test::in_scratch("wide.npy"), Tensor::zeros({1, 2, 6, 8}));
  arguments[2] = test::in_scratch("wide.npy");
  expect_refused(arguments, "shape[3] of K is 8, expected 4 (q's head size)");
}

TEST(Arguments, AnObserverIsNamedAsItIsGiven) {
  const auto observe = [](const char* observer, const std::string& message,
                          const char* normaliser = "softmax") {
    expect_refused(attend_on_files({"--normaliser", normaliser, "--observe", observer,
                                    "--observe-out", test::in_scratch("observed")}),
                   message);
  };
  observe("row=9", "--observe: rows is 9, expected 0 to 5 (6 queries)");
  observe("value_norm:column=9", "--observe: keys is 9, expected 0 to 5 (6 keys)");
  observe("offset_profile=-99999999:0",
          "--observe offset_profile: first is -99999999, expected a distance within 16777216 of 0");
  observe("entropy",
          "--observe entropy: --normaliser is none, expected one that makes probabilities", "none");
  observe("value_norm:entropy",
          "--observe value_norm: weighted is entropy, expected one of weights (weights times norms "
          "have no logarithms)");
}

TEST(Arguments, WhatAFileSaysKeepsItsName) {
  const std::string config = test::in_scratch("zero.json");
  std::ofstream(config) << R"({"data": ["y"], "steps": 0})";
  expect_refused({"train", config, "-o", "x"}, "steps is 0, expected at least 1");
}

TEST(Arguments, ALeadingZeroIsNoOctalNumber) {
  expect_refused({"look", "abc", "--layer", "010", "--model", test::tiny_model()},
                 "--layer is 10, expected 0 to 1 (tiny has 2 layers)");
}

TEST(Arguments, ANumberIsANumber) {
  expect_refused({"generate", "abc", "--temperature", "warm"},
                 "--temperature is \"warm\", expected a number");
  expect_refused({"attend", "q", "k", "v", "--softcap", "1,5"},
                 "--softcap is \"1,5\", expected a number");
}

TEST(Arguments, AWordIsOneOfItsList) {
  expect_refused({"look", "abc", "--format", "pdf"},
                 "--format is \"pdf\", expected one of text, json, tsv, npy, svg, png, html, "
                 "graphml, dot");
}

TEST(Arguments, AnEmptyValueIsNotAMissingOne) {
  expect_refused({"look", "abc", "--who", ""},
                 "--who is \"\", expected a word of the text, or the index of a token");
  expect_refused({"look", "abc", "--top", ""}, "--top is \"\", expected a number from 1, or all");
  expect_refused({"look", "--file", ""}, "--file is \"\", expected a file's name");
  expect_refused({"generate", "abc", "--model", ""},
                 "--model is \"\", expected a model's folder or name");
  expect_refused({"train", "", "-o", "x"}, "CONFIG is \"\", expected a file's name");
  expect_refused({"convert", "tales", "-o", ""},
                 "--out is \"\", expected a folder's name, or FILE.gguf");
  expect_refused({"attend", "q", "k", "v", "-o", ""},
                 "--out is \"\", expected a file's name, OUT.npy");
}

TEST(Arguments, AListHasNoGaps) {
  for (const char* list : {"5,,3", "1,2,", ",1"})
    expect_refused({"look", "--ids", list},
                   fmt::format("--ids is \"{}\", expected token ids, as in 5,3,9", list));
}

TEST(Arguments, TooFewAndTooManyAreNamed) {
  expect_refused({"look", "abc", "--who"},
                 "--who is given no value, expected a word of the text, or the index of a token");
  expect_refused({"attend", "q", "k", "v", "--window", "3"},
                 "--window is given too few values, expected L,R");
  expect_refused({"generate", "abc", "--temperature"},
                 "--temperature is given no value, expected a number");
  expect_refused({"generate", "abc", "-n"}, "-n is given no value, expected a whole number");
  expect_refused({"attend", "q", "k"}, "V is missing, expected a file's name, V.npy");
  expect_refused({"train"}, "-o/--output is missing, expected a folder's name");
  expect_refused({"convert", "tales"},
                 "-o/--out is missing, expected a folder's name, or FILE.gguf");
  expect_refused({"convert", "tales", "a", "-o", "b"},
                 "-o/--out is given beside OUT, expected one of both");
  expect_refused({"check"}, "WHAT is missing, expected model or onnx");
  expect_refused({"look", "abc", "def"},
                 "unexpected argument \"def\"; put quotes around a text of several words");
  expect_refused({"models", "tales", "masks"}, "unexpected argument \"masks\"");
  expect_refused(
      {"attend", "q", "k", "v", "--scale", "0.1", "0.2"},
      "unexpected argument \"0.2\"; separate the values of --scale by commas, without spaces");
  expect_refused({"serve", "abc"}, "unexpected argument \"abc\"; give a text with --text");
  expect_refused({"explain", "--json=x"}, "--json is given a value, expected none");
}

TEST(Arguments, AnUnknownOptionIsToldTheNearest) {
  expect_refused({"generate", "abc", "--temprature", "1"},
                 "unknown option --temprature; the nearest is --temperature");
  expect_refused({"look", "abc", "--modle=x"}, "unknown option --modle; the nearest is --model");
}

TEST(Arguments, NothingIsSuggestedThatIsNotNear) {
  expect_refused({"look", "abc", "--foo"}, "unknown option --foo; heed look --help lists them");
  expect_refused({"look", "abc", "-x"}, "unknown option -x; heed look --help lists them");
}

TEST(Arguments, ATextMayBeginWithAHyphenAfterTwo) {
  const Answer answer = heed({"look", "--model", test::tiny_model(), "--", "--the cat"});
  EXPECT_EQ(answer.status, 0) << answer.error;
}

TEST(Arguments, AnOptionBehindTwoHyphensIsText) {
  expect_refused({"look", "--", "-hi", "--rows", "5"},
                 "unexpected argument \"--rows\"; options go before --, which only text follows");
  expect_refused({"generate", "--modle", "x", "--", "-hi"},
                 "unknown option --modle; the nearest is --model");
  expect_refused({"look", "--", "-hi", "5"},
                 "unexpected argument \"5\"; put quotes around a text of several words");
}

TEST(Arguments, AHyphenAloneReadsTheTextFromStdin) {
  const std::string file = test::in_scratch("stdin.txt");
  std::ofstream(file) << "the cat sat";
  for (const char* command : {"look", "generate", "tokenize"}) {
    const auto answer = [&](std::vector<std::string> given, const std::string& shell = "") {
      given.insert(given.begin(), {command, "--model", test::tiny_model(), "--json"});
      if (given[0] == "look") given[3] = "--format=json";
      return heed(given, shell);
    };
    const Answer written_out = answer({"the cat sat"});
    EXPECT_EQ(written_out.status, 0) << written_out.error;
    EXPECT_EQ(answer({"-"}, "< " + file).out, written_out.out) << command;
    EXPECT_EQ(answer({"--file", "-"}, "< " + file).out, written_out.out) << command;
  }
}

TEST(Arguments, AFileIsNoFolderOfGradients) {
  const std::string file = test::in_scratch("no-folder");
  std::ofstream(file) << "x";
  expect_refused(attend_on_files({"--grad", test::in_scratch("D.npy"), "--grad-out", file}),
                 file + ": is a file, expected a folder");
}

TEST(Arguments, AFolderIsNoText) {
  const std::string folder = test::scratch().string();
  expect_refused({"look", "--file", folder}, folder + ": is a folder, expected a text file");
  expect_refused({"generate", "--file", folder}, folder + ": is a folder, expected a text file");
  expect_refused({"look", "--file", "/nowhere"},
                 "/nowhere: cannot be read: No such file or directory, expected a text file");
}

TEST(Arguments, ATextThatNeverEndsIsRefused) {
  expect_refused({"look", "--file", "/dev/zero", "--model", test::tiny_model()},
                 "/dev/zero: is a device, expected a text file");
  expect_refused({"generate", "--file", "-", "--model", test::tiny_model()},
                 "standard input: has more than 64 MiB, expected a text of at most that",
                 "< /dev/zero");
}

TEST(Arguments, ARunIsAFolder) {
  const std::string file = test::in_scratch("a-file");
  std::ofstream(file) << "x";
  expect_refused({"train", "--data", "/nowhere", "-o", file},
                 file + ": is a file, expected a folder");
}

TEST(Arguments, AFailedTrainingLeavesNoFolder) {
  const std::string folder = test::in_scratch("outer/inner");
  expect_refused({"train", "--data", "/nowhere", "-o", folder}, "/nowhere: no such file or folder");
  EXPECT_FALSE(std::filesystem::exists(test::scratch() / "outer"));
}

}  // namespace
}  // namespace heed::cli
