// The errors of generation, with their full texts.
#include <gtest/gtest.h>

#include <cmath>

#include "generate/letters.h"
#include "heed/generate.h"
#include "support/expect_error.h"
#include "text/word_level.h"

namespace heed {
namespace {

using test::letters_model;
using Ids = std::vector<TokenId>;

TEST(GenerateErrors, WhatCannotBeServedIsAnError) {
  const auto model = letters_model();
  const auto letters = train_characters("abcdefghijk");
  const auto expect = [&](const GenerateArgs& args, const char* message) {
    EXPECT_HEED_ERROR(generate(*model, args), ErrorCode::kInvalidArgument, message);
  };
  expect({.prompts = {{}}}, "generate: prompt is empty, expected at least one token");
  expect({.prompts = {Ids(25)}},
         "generate: prompt is 25 tokens long, expected at most 24 (the model's positions)");
  expect({.prompts = {{3, 11}}}, "generate: token is 11, expected 0 to 10 (the vocabulary)");
  expect({.prompts = {{3}}, .most_tokens = 0}, "generate: most_tokens is 0, expected at least 1");
  expect({.prompts = {{3}}, .sampling = {.top_p = 2}},
         "generate: top_p is 2, expected above 0 and at most 1");
  expect({.prompts = {{3}}, .stop = {"x"}},
         "generate: tokenizer is not given, expected one, as stop is given");
  expect({.prompts = {{3}}, .tokenizer = letters.get(), .stop = {""}},
         "generate: stop is empty, expected at least one character");
}

TEST(GenerateErrors, RulesThatLeaveNothingToWriteAreRefused) {
  const auto model = letters_model();
  const auto expect = [&](const TokenRules& rules, const std::string& message) {
    EXPECT_HEED_ERROR(generate(*model, {.prompts = {{3}}, .rules = rules}),
                      ErrorCode::kInvalidArgument, message);
  };
  const std::vector<TokenId> all = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 11, 99};
  expect({.suppressed = all},
         "generate: suppressed is all 11 tokens of the vocabulary, expected a list that leaves one "
         "to be written");
  expect({.suppressed = {0, 1, 2, 3, 4}, .suppressed_first = {5, 6, 7, 8, 9, 10}},
         "generate: suppressed_first is all 11 tokens of the vocabulary, expected a list that "
         "leaves one to be written");
  expect({.suppressed = {4}, .forced_first = 4},
         "generate: forced_first is 4, which is suppressed, expected a token that may be written");
  expect({.forced_last = {11}}, "generate: forced_last is 11, expected 0 to 10 (the vocabulary)");
}

TEST(GenerateErrors, LogitsThatAreNoNumbersAreAnError) {
  const auto model = letters_model();
  model->parameters()[0]->value.data<float>()[5 * 16] = std::nanf("");  // of token 5
  EXPECT_HEED_ERROR(generate(*model, {.prompts = {{3}}}), ErrorCode::kCorrupt,
                    "generate: logits[5] is nan, expected a number; weights of the model are not "
                    "finite, or too large (heed look shows where)");
}

}  // namespace
}  // namespace heed
