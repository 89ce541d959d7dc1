#include "inspect/rows/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Session words_in(const std::vector<std::string>& texts) {
  Session session;
  for (const std::string& text : texts) session.tokens.push_back({.bytes = text});
  return session;
}

AlignedTokens one(std::int64_t a, std::int64_t b) { return {{a, a + 1}, {b, b + 1}}; }

TEST(AlignWords, AWordOfOtherTokensIsAlignedWhole) {
  const Session a = words_in({"The", " king", " was", " old"});
  const Session b = words_in({"The", " qu", "een", " was", " old"});
  const Alignment found = align_words(a, b);
  EXPECT_THAT(found.pairs,
              ElementsAre(one(0, 0), AlignedTokens{{1, 2}, {1, 3}}, one(2, 3), one(3, 4)));
  EXPECT_EQ(found.alone, AlignedTokens{});
}

TEST(AlignWords, ATokenOfSpacesBelongsToTheWordBehindIt) {
  const Session a = words_in({"The", " king", " was", " old"});
  const Session b = words_in({"The", " ", "Z", "ar", " was", " old"});
  EXPECT_THAT(align_words(a, b).pairs,
              ElementsAre(one(0, 0), AlignedTokens{{1, 2}, {1, 4}}, one(2, 4), one(3, 5)));
}

TEST(AlignWords, WordsOfAsManyTokensAreAlignedTokenByToken) {
  const Session a = words_in({"A", " du", "ke", " and", " a", " king"});
  const Session b = words_in({"A", " kni", "ght", " and", " a", " qu", "een"});
  EXPECT_THAT(align_words(a, b).pairs, ElementsAre(one(0, 0), one(1, 1), one(2, 2), one(3, 3),
                                                   one(4, 4), AlignedTokens{{5, 6}, {5, 7}}));
}

TEST(AlignWords, WordsThatOnlyOneTextHasAreAlone) {
  const Session a = words_in({"The", " king", " was", " old"});
  const Session b = words_in({"The", " very", " good", " king", " was", " old"});
  const Alignment found = align_words(a, b);
  EXPECT_THAT(found.pairs, ElementsAre(one(0, 0), one(1, 3), one(2, 4), one(3, 5)));
  EXPECT_EQ(found.alone.a.size(), 0);
  EXPECT_EQ(found.alone.b, (TokenRange{1, 3}));
  EXPECT_EQ(words_text(b, found.alone.b), "very good");
}

TEST(AlignWords, TextsThatShareLessThanHalfOfTheirWordsAreNotAligned) {
  EXPECT_THAT(align_words(words_in({"The", " king"}), words_in({"Once", " upon", " a"})).pairs,
              IsEmpty());
}

TEST(AlignWords, PairsAndLongTextsAreNotAligned) {
  const Session plain = words_in({"The", " king"});
  Session pair = words_in({"The", " king"});
  pair.split = 1;
  EXPECT_THAT(align_words(plain, pair).pairs, IsEmpty());
  const Session most = words_in(std::vector<std::string>(512, " a"));
  EXPECT_EQ(align_words(most, most).pairs.size(), 512);
  const Session longer = words_in(std::vector<std::string>(513, " a"));
  EXPECT_THAT(align_words(longer, longer).pairs, IsEmpty());
}

}  // namespace
}  // namespace heed
