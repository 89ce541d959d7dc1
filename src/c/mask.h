// The handle behind heed_mask.
#pragma once

#include "heed/c/mask.h"
#include "heed/mask.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name that C sees
struct heed_mask {
  heed::Mask mask;
};
