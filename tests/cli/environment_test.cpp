// Variables of the environment that cannot be read are named like arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using test::expect_refused;
using test::heed;

class Environment : public testing::Test {
 protected:
  void set(const char* variable, const char* value) {
    variable_ = variable;
    setenv(variable, value, 1);
  }
  ~Environment() override { unsetenv(variable_); }

  const char* variable_ = "HEED_FORCE";
};

TEST_F(Environment, AForcedKernelThatDoesNotExistIsNamed) {
  set("HEED_FORCE", "abacus");
  expect_refused({"look", "the cat", "--model", test::tiny_model()},
                 "attention: HEED_FORCE is 'abacus', expected one of cpu-avx512, cpu-avx2, "
                 "portable, reference");
}

TEST_F(Environment, AnInstructionSetThatDoesNotExistIsNamed) {
  for (const char* isa : {"sse9", "AVX2", " avx2"}) {
    set("HEED_ISA", isa);
    expect_refused(
        {"look", "the cat", "--model", test::tiny_model()},
        fmt::format("HEED_ISA is '{}', expected one of portable, avx2, avx512, avx512-bf16, amx",
                    isa));
  }
}

TEST_F(Environment, HeedIsaTakesVectorsFromEveryOperator) {
  set("HEED_ISA", "portable");
  const auto kernel_of = [](const char* what, const char* name) {
    const test::Answer answer = heed({"bench", what, "--json", "--case", name, "--threads", "1"});
    EXPECT_EQ(answer.status, 0) << answer.error;
    return std::string(nlohmann::json::parse(answer.out)[0]["kernel"]);
  };
  EXPECT_EQ(kernel_of("matmul", "forward-128x128"), "portable");
  EXPECT_EQ(kernel_of("attention", "plain-n64-d64"), "portable");
}

TEST_F(Environment, AThreadCountOfTheEnvironmentThatIsNoneIsNamed) {
  for (const char* count : {"abc", "0", "-1", "1e9", "1000000000", " 2"}) {
    set("HEED_THREADS", count);
    for (const char* command : {"look", "generate"})
      expect_refused(
          {command, "the cat", "--model", test::tiny_model()},
          fmt::format("HEED_THREADS is \"{}\", expected a whole number from 1 to 4096", count));
  }
  set("HEED_THREADS", "");
  EXPECT_EQ(heed({"look", "the cat", "--model", test::tiny_model()}).error, "");
}

TEST_F(Environment, AFolderOfModelsThatIsNotThereIsNamed) {
  set("HEED_MODELS", "/nowhere");
  const std::string message =
      "$HEED_MODELS is \"/nowhere\", which is not a folder, expected a folder of model folders";
  expect_refused({"models"}, message);
  expect_refused({"look", "the cat"}, message);
  expect_refused({"look", "the cat", "--model", "tales"}, message);
  EXPECT_EQ(heed({"look", "the cat", "--model", test::tiny_model()}).error, "");
}

}  // namespace
}  // namespace heed::cli
