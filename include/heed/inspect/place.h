// Which head: a model's attentions by name and number.
#pragma once

#include "heed/nn/tap.h"

namespace heed {

/// One head's attention.
struct Place {
  Stack stack = Stack::kSelf;
  int layer = 0;
  int head = 0;
  auto operator<=>(const Place&) const = default;
};

}  // namespace heed
