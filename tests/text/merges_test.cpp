#include "text/model/merges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace heed {
namespace {

using testing::ElementsAre;

std::vector<Symbol> symbols(const std::vector<TokenId>& ids) {
  std::vector<Symbol> result;
  for (const TokenId id : ids) {
    const auto begin = static_cast<std::uint32_t>(result.size());
    result.push_back({id, begin, begin + 1});
  }
  return result;
}

std::vector<TokenId> merged(const Merges& merges, const std::vector<TokenId>& ids) {
  std::vector<Symbol> word = symbols(ids);
  merges.apply(word);
  std::vector<TokenId> result;
  for (const Symbol& symbol : word) result.push_back(symbol.id);
  return result;
}

TEST(Merges, TheLowestRankGoesFirst) {
  Merges merges;
  merges.add(1, 2, 1, 12);
  merges.add(2, 3, 0, 23);
  EXPECT_THAT(merged(merges, {1, 2, 3}), ElementsAre(1, 23));
}

TEST(Merges, OfEqualRankTheLeftmost) {
  Merges merges;
  merges.add(1, 1, 0, 11);
  EXPECT_THAT(merged(merges, {1, 1, 1}), ElementsAre(11, 1));
}

TEST(Merges, AMergedPairMergesOn) {
  Merges merges;
  merges.add(1, 2, 5, 12);
  merges.add(12, 12, 0, 1212);
  EXPECT_THAT(merged(merges, {1, 2, 1, 2, 3}), ElementsAre(1212, 3));
}

TEST(Merges, AMergedSymbolHasTheBytesOfBoth) {
  Merges merges;
  merges.add(1, 2, 0, 12);
  merges.add(12, 3, 1, 123);
  std::vector<Symbol> word = symbols({9, 1, 2, 3, 9});
  merges.apply(word);
  ASSERT_EQ(word.size(), 3U);
  EXPECT_EQ(word[1].begin, 1U);
  EXPECT_EQ(word[1].end, 4U);
}

TEST(Merges, AVeryLongWordTakesNoQuadraticTime) {
  Merges merges;
  TokenId last = 1;
  for (std::int32_t rank = 0; rank < 16; ++rank) {
    merges.add(last, last, rank, last + 1);
    ++last;
  }
  const std::clock_t begin = std::clock();  // CPU time, which other processes do not lengthen
  EXPECT_EQ(merged(merges, std::vector<TokenId>(1 << 20, 1)), std::vector<TokenId>(1 << 4, 17));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 30);  // 0.2 s; a quadratic one takes an hour
}

}  // namespace
}  // namespace heed
