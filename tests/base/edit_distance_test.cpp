#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace heed {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("head", "head"), 0U);
  EXPECT_EQ(edit_distance("", "head"), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

}  // namespace heed
