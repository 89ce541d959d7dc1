#include "base/wording.h"

#include <gtest/gtest.h>

namespace heed {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("head", "head"), 0U);
  EXPECT_EQ(edit_distance("", "head"), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

TEST(NearestName, IsTheOneOfWhichAThirdOfTheLettersDifferAtMost) {
  const std::string_view names[] = {"look", "serve", "previous"};
  EXPECT_EQ(nearest_name(names, "lok"), "look");
  EXPECT_EQ(nearest_name(names, "previus"), "previous");
  EXPECT_EQ(nearest_name(names, "train"), "");
}

namespace {

TEST(NumberOf, OneIsSingular) {
  EXPECT_EQ(number_of(1, "layer"), "1 layer");
  EXPECT_EQ(number_of(0, "layer"), "0 layers");
  EXPECT_EQ(number_of(std::size_t{12}, "layer"), "12 layers");
  EXPECT_EQ(number_of(1, "query", "queries"), "1 query");
  EXPECT_EQ(number_of(2, "query", "queries"), "2 queries");
}

}  // namespace

}  // namespace heed
