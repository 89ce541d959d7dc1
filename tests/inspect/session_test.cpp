// What is said of a session's tokens as a whole.
#include "heed/inspect/session.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace heed
