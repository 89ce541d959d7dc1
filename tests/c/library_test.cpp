// The whole library, and the promises of its ABI.
#include <gtest/gtest.h>

#include <cstddef>

#include "heed/c.h"  // IWYU pragma: keep
#include "heed/threads.h"

namespace {

TEST(CLibrary, KnowsItsVersion) { EXPECT_EQ(heed_version(), heed::version()); }

TEST(CLibrary, ThreadsCanBeSetAndComeBack) {
  int32_t before = 0;
  int32_t count = 0;
  ASSERT_EQ(heed_thread_count(&before), HEED_OK);
  EXPECT_GE(before, 1);
  EXPECT_EQ(heed_set_thread_count(3), HEED_OK);
  EXPECT_EQ(heed_thread_count(&count), HEED_OK);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(heed_set_thread_count(0), HEED_OK);
  EXPECT_EQ(heed_thread_count(&count), HEED_OK);
  EXPECT_EQ(count, before);
}

// The places of fields may never change within one soname; a struct may only grow at its end.
TEST(CAbi, FieldsStayWhereTheyAre) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers are those of 64 bits";
  EXPECT_EQ(sizeof(heed_view), 152U);
  EXPECT_EQ(sizeof(heed_region), 48U);
  EXPECT_EQ(offsetof(heed_view, strides), 88U);
  EXPECT_EQ(offsetof(heed_attention_args, ring_begin), 616U);
  EXPECT_EQ(offsetof(heed_attention_args, mask), 1048U);
  EXPECT_EQ(offsetof(heed_attention_args, bias), 1088U);
  EXPECT_EQ(offsetof(heed_attention_args, kernel), 1568U);
  EXPECT_EQ(offsetof(heed_attended, out_low), 464U);
  EXPECT_EQ(offsetof(heed_gradients, dscale), 920U);
  EXPECT_EQ(offsetof(heed_observation, region), 32U);
  EXPECT_EQ(offsetof(heed_observation, second), 328U);
  EXPECT_EQ(offsetof(heed_error, hint), 56U);
  EXPECT_EQ(offsetof(heed_plan, reasons), 88U);
}

// The size of the first struct of each kind: what a program compiled today will always say.
TEST(CAbi, NoStructIsSmallerThanAtFirst) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers are those of 64 bits";
  EXPECT_GE(sizeof(heed_attention_args), 1576U);
  EXPECT_GE(sizeof(heed_attended), 616U);
  EXPECT_GE(sizeof(heed_gradients), 1072U);
  EXPECT_GE(sizeof(heed_observation), 480U);
}

}  // namespace
