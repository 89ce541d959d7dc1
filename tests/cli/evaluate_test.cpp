// heed evaluate: loss, perplexity and bits per byte, as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/tiny_model.h"

namespace heed::cli {
namespace {

using nlohmann::json;
using test::Answer;
using test::in_scratch;
using testing::HasSubstr;

std::string text_file(const std::string& name, const std::string& text) {
  const std::string path = in_scratch(name);
  std::ofstream(path) << text;
  return path;
}

Answer evaluate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "evaluate");
  return test::heed(arguments);
}

TEST(Evaluate, SaysTheSameInTextAndJson) {
  const std::string file = text_file("seen.txt", "the cat sat on the mat");
  const Answer answer = evaluate({test::tiny_model(), file, "--json"});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const json found = json::parse(answer.out);
  const double loss = found["loss"], tokens = found["tokens"], bytes = found["bytes"];
  EXPECT_GT(tokens, 1);
  EXPECT_GT(bytes, 1);
  EXPECT_LE(bytes, 22);
  EXPECT_NEAR(found["perplexity"], std::exp(loss), 1e-9 * std::exp(loss));
  EXPECT_NEAR(found["bits_per_byte"], loss * tokens / std::log(2.0) / bytes, 1e-9);
  const Answer text = evaluate({test::tiny_model(), file});
  EXPECT_THAT(text.out, HasSubstr(fmt::format("loss           {:.4f} nats per token", loss)));
  EXPECT_THAT(text.out, HasSubstr(fmt::format("of {} tokens, {} bytes", tokens, bytes)));
}

TEST(Evaluate, SaysWhatDoesNotFit) {
  const std::string file = text_file("seen.txt", "the cat sat on the mat");
  const auto refuse = [](const std::vector<std::string>& arguments, const std::string& text) {
    const Answer answer = evaluate(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.error, HasSubstr(text));
  };
  refuse({test::tiny_model(), file, "--context", "100000"}, "--context is 100000, expected 2 to ");
  refuse({test::tiny_model(), file, "--context", "8", "--stride", "8"},
         "--stride is 8, expected 1 to 7, less than the context");
  refuse({test::tiny_model(), text_file("empty.txt", "")},
         "empty.txt: no token of text, expected ");
  refuse({test::tiny_model(), text_file("latin1.txt", "ab\xe9")},
         "latin1.txt: byte 2 is 0xE9, which is not valid UTF-8 there");
  refuse({test::tiny_encoder(), file}, "does not predict next tokens, expected a decoder");
  refuse({test::tiny_model()}, "FILE");
}

}  // namespace
}  // namespace heed::cli
