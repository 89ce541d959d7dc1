// Compares whole error messages, as users read them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "heed/error.h"

/// Expects `statement` to throw heed::Error with this code and exactly this message.
#define EXPECT_HEED_ERROR(statement, expected_code, expected_message)    \
  try {                                                                  \
    statement;                                                           \
    ADD_FAILURE() << "no error; expected: " << (expected_message);       \
  } catch (const heed::Error& error) {                                   \
    EXPECT_EQ(std::string(error.what()), std::string(expected_message)); \
    EXPECT_EQ(error.code(), expected_code);                              \
  }
