#include "base/philox.h"

#include <gtest/gtest.h>

namespace heed {

// Random123's known-answer vectors (kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, ContinuesFromItsPosition) {
  Random first(7, 3);
  for (int i = 0; i < 5; ++i) first.next_u32();
  Random second(7, 3, first.position());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(first.next_u32(), second.next_u32());
}

}  // namespace heed
