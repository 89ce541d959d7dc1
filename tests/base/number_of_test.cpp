#include "base/number_of.h"

#include <gtest/gtest.h>

namespace heed {
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
