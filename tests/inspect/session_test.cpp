// Facts about a session's tokens as a whole.
#include "heed/session.h"

#include <gtest/gtest.h>

#include "inspect/models.h"
#include "inspect/session/session_input.h"
#include "support/expect_error.h"

namespace heed {
namespace {

bool mostly_parts(const std::vector<std::string>& bytes) {
  std::vector<SessionToken> tokens;
  for (const std::string& token : bytes) tokens.push_back({.bytes = token});
  return are_mostly_parts_of_characters(tokens);
}

TEST(PartsOfCharacters, AreMoreThanHalfOfTheTokens) {
  EXPECT_TRUE(mostly_parts({"\xe7", "\x8c", "\xab", "a"}));
  EXPECT_TRUE(mostly_parts({"\xe7\x8c", "\xab", "a"}));
  EXPECT_FALSE(mostly_parts({"\xe7\x8c", "\xab", "a", "b"}));
}

TEST(PartsOfCharacters, AreNoWholeCharacters) {
  EXPECT_FALSE(mostly_parts({"\xe7\x8c\xab", " \xe7\x8c\xab", "\t"}));
  EXPECT_FALSE(mostly_parts({}));
}

Error failure_of(const LoadedModel& model) {
  try {
    open_session(model, std::vector<TokenId>{1, 2, 3});
  } catch (const Error& error) {
    return error;
  }
  return Error({.found = "none"});
}

TEST(Session, NumbersThatAreNoneNameTheirLayerAndHead) {
  LoadedModel model = test::tiny(3);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name == "transformer.h.1.attn.c_attn.weight")
      parameter->value.data<float>()[16 + 9] = NAN;  // of head 2's keys
  EXPECT_EQ(failure_of(model).code(), ErrorCode::kCorrupt);
  EXPECT_STREQ(
      failure_of(model).what(),
      "tiny: layer 1, head 2: the lse of token 0 is nan, expected a number; its weights up to "
      "there are not finite, or too large");
}

TEST(Session, LogitsThatAreNoNumbersAreAnError) {
  LoadedModel model = test::tiny(1);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name == "transformer.ln_f.bias") {
      parameter->value.data<float>()[3] = 3e38F;
      parameter->value.data<float>()[4] = 3e38F;
    } else if (parameter->name == "transformer.wte.weight") {
      parameter->value.data<float>()[3] = 3e1F;  // of token 0, which the text does not have
      parameter->value.data<float>()[4] = 3e1F;
    }
  EXPECT_STREQ(failure_of(model).what(),
               "tiny: the logits of token 2 is inf, expected a number; its weights up to there are "
               "not finite, or too large");
}

TEST(Session, StatesThatAreNoNumbersNameTheirLayer) {
  LoadedModel model = test::tiny(1);
  for (Parameter* parameter : model.model->parameters())
    if (parameter->name == "transformer.h.0.mlp.c_proj.bias")
      parameter->value.data<float>()[3] = HUGE_VALF;
  EXPECT_STREQ(
      failure_of(model).what(),
      "tiny: layer 0, behind its MLP: the state of token 0 is inf, expected a number; its weights "
      "up to there are not finite, or too large");
}

// A pass of a large model must end soon after its result is no longer wanted.
TEST(Session, AsksSeveralTimesALayerWhetherToStop) {
  const LoadedModel model = test::tiny(3);
  int asked = 0;
  open_session(model, std::vector<TokenId>{1, 2, 3}, {.stop = [&] { return ++asked < 0; }});
  EXPECT_GE(asked, 3 * 6);
  int left = asked / 2;
  EXPECT_HEED_ERROR(
      open_session(model, std::vector<TokenId>{1, 2, 3}, {.stop = [&] { return --left == 0; }}),
      ErrorCode::kInterrupted, "session: stopped");
}

TEST(Session, RefusesIdsBeforeItComputes) {
  EXPECT_HEED_ERROR(tokenize_session(test::tiny(1), std::vector<TokenId>{1, 300}),
                    ErrorCode::kInvalidArgument,
                    "session: ids is 300, expected 0 to 255 (tiny's vocabulary)");
}

TEST(Session, ShowsAnIdWithoutATokenizerAsSuch) {
  EXPECT_EQ(tokenize_session(test::tiny(1), std::vector<TokenId>{7}).tokens[0].bytes, "#7");
}

TEST(Session, RefusesATextWithoutAToken) {
  EXPECT_HEED_ERROR(open_session(test::tales(), ""), ErrorCode::kInvalidArgument,
                    "session: text is empty, expected at least one word");
  EXPECT_HEED_ERROR(open_session(test::masks(), "  "), ErrorCode::kInvalidArgument,
                    "session: text is blank, expected at least one word");
}

TEST(Session, SaysHowManyTokensAreTooMany) {
  const Session session = tokenize_session(test::tiny(1), std::vector<TokenId>(17, 1));
  EXPECT_HEED_ERROR(check_length(session), ErrorCode::kInvalidArgument,
                    "session: input is 17 tokens, expected at most 16 (tiny's positions)");
}

}  // namespace
}  // namespace heed
