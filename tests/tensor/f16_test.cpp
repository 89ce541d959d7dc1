#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heed/tensor.h"

namespace heed {

TEST(F16, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    f16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(f16(wide))));
    } else {
      EXPECT_EQ(f16(wide).bits, bits);
    }
  }
}

TEST(F16, RoundsToNearestEven) {
  EXPECT_EQ(f16(1.0F + 0x1p-11F).bits, 0x3C00);      // half way: to even, down
  EXPECT_EQ(f16(1.0F + 3 * 0x1p-11F).bits, 0x3C02);  // half way: to even, up
  EXPECT_EQ(f16(std::nextafter(1.0F + 0x1p-11F, 2.0F)).bits, 0x3C01);
  EXPECT_EQ(f16(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(f16(65520.0F).bits, 0x7C00);  // infinity
  EXPECT_EQ(f16(0x1p-24F).bits, 1);
  EXPECT_EQ(f16(0x1p-25F).bits, 0);
  EXPECT_EQ(f16(std::nextafter(0x1p-25F, 1.0F)).bits, 1);
  EXPECT_EQ(f16(std::nextafter(0x1p-14F, 0.0F)).bits, 0x400);  // rounds up into the normals
}

TEST(BF16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(bf16(1.0F + 0x1p-8F).bits, 0x3F80);
  EXPECT_EQ(bf16(1.0F + 3 * 0x1p-8F).bits, 0x3F82);
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(bf16(std::numeric_limits<float>::infinity()).bits, 0x7F80);
}

}  // namespace heed
