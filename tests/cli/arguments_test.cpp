// What is wrong with arguments, as every command says it: option, found, expected.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::heed;

void refused(const std::vector<std::string>& arguments, const std::string& message,
             const std::string& shell = "") {
  const Answer answer = heed(arguments, shell);
  EXPECT_EQ(answer.status, 2) << message;
  EXPECT_EQ(answer.error, "heed " + arguments[0] + ": " + message + "\n");
  EXPECT_EQ(answer.out, "");
}

TEST(Arguments, AWholeNumberHasDigitsOnlyAndStaysInItsRange) {
  constexpr const char* kSeeds = "expected a whole number from 0 to 18446744073709551615";
  for (const char* seed : {"-1", "18446744073709551616", "99999999999999999999", "0x10", "1e3", ""})
    refused({"generate", "abc", "--seed", seed},
            fmt::format("--seed: found \"{}\", {}", seed, kSeeds));
  refused({"look", "abc", "--layer", "one"},
          "--layer: found \"one\", expected a whole number from -2147483648 to 2147483647");
  refused({"look", "--ids", "1,x"},
          "--ids: found \"x\", expected a whole number from -2147483648 to 2147483647");
  refused({"look", "abc", "--threads", "0"},
          "--threads: found \"0\", expected a whole number from 1 to 4096");
  refused({"train", "-o", "x", "--steps", "2.5"},
          "--steps: found \"2.5\", expected a whole number from -9223372036854775808 to "
          "9223372036854775807");
  refused({"serve", "--port", "70000"},
          "--port: found \"70000\", expected a whole number from 0 to 65535");
}

TEST(Arguments, ALeadingZeroIsNoOctalNumber) {
  refused({"look", "abc", "--layer", "010", "--model", test::tiny_model()},
          "layer 10 does not exist, tiny has layers 0 to 1");
}

TEST(Arguments, ANumberIsANumber) {
  refused({"generate", "abc", "--temperature", "warm"},
          "--temperature: found \"warm\", expected a number");
  refused({"attend", "q", "k", "v", "--softcap", "1,5"},
          "--softcap: found \"1,5\", expected a number");
}

TEST(Arguments, AWordIsOneOfItsList) {
  refused({"look", "abc", "--format", "pdf"},
          "--format: found \"pdf\", expected one of text, json, tsv, npy, svg, png, html");
}

TEST(Arguments, AnEmptyValueIsNotAMissingOne) {
  refused({"look", "abc", "--model", ""}, "--model: found \"\", expected M");
  refused({"look", "abc", "--who", ""}, "--who: found \"\", expected WORD");
  refused({"look", "--file", ""}, "--file: found \"\", expected FILE");
  refused({"generate", "abc", "--model", ""}, "--model: found \"\", expected M");
  refused({"train", "", "-o", "x"}, "CONFIG: found \"\", expected FILE");
}

TEST(Arguments, TooFewAndTooManyAreNamed) {
  refused({"look", "abc", "--who"}, "--who: found no value, expected WORD");
  refused({"look", "abc", "--who", "a", "--who", "b"},
          "--who: found several values, expected WORD");
  refused({"attend", "q", "k", "v", "--window", "3"},
          "--window: found too few values, expected L,R");
  refused({"attend", "q", "k"}, "V is missing");
  refused({"train"}, "--output is missing");
  refused({"generate", "abc", "def"},
          "found \"def\" after the last argument, expected nothing there");
  refused({"explain", "--json=x"}, "--json: found a value, expected none");
}

TEST(Arguments, AnUnknownOptionIsToldTheNearest) {
  refused({"generate", "abc", "--temprature", "1"},
          "--temprature is no option, the nearest is --temperature");
  refused({"look", "abc", "--modle=x"}, "--modle is no option, the nearest is --model");
}

TEST(Arguments, ATextMayBeginWithAHyphenAfterTwo) {
  const Answer answer = heed({"look", "--model", test::tiny_model(), "--", "--the cat"});
  EXPECT_EQ(answer.status, 0) << answer.error;
}

TEST(Arguments, AFolderIsNoText) {
  const std::string folder = test::scratch().string();
  refused({"look", "--file", folder}, folder + ": is a folder, expected a text file");
  refused({"generate", "--file", folder}, folder + ": is a folder, expected a text file");
  refused({"look", "--file", "/nowhere"},
          "/nowhere: cannot be read: No such file or directory, expected a text file");
}

TEST(Arguments, ATextThatNeverEndsIsRefused) {
  refused({"look", "--file", "/dev/zero", "--model", test::tiny_model()},
          "/dev/zero: goes on after 64 MiB, expected a text that ends there");
  refused({"generate", "--file", "-", "--model", test::tiny_model()},
          "standard input: goes on after 64 MiB, expected a text that ends there", "< /dev/zero");
}

TEST(Arguments, AForcedKernelThatDoesNotExistIsNamed) {
  setenv("HEED_FORCE", "abacus", 1);
  refused({"look", "the cat", "--model", test::tiny_model()},
          "attention: HEED_FORCE names kernel 'abacus', which is unknown: one of cpu-avx512, "
          "cpu-avx2, tiled, reference is expected");
  unsetenv("HEED_FORCE");
}

TEST(Arguments, AFailedTrainingLeavesNoFolder) {
  const std::string folder = test::in_scratch("outer/inner");
  refused({"train", "--data", "/nowhere", "-o", folder}, "/nowhere: no such file or folder");
  EXPECT_FALSE(std::filesystem::exists(test::scratch() / "outer"));
}

}  // namespace
}  // namespace heed::cli
