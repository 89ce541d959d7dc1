// Keys as caches hold them: of i8, in pages, in rings.
#pragma once

#include <vector>

#include "bench/attention_cases.h"

namespace heed {

/// Keys with the memory that they look at.
struct HeldKeys {
  std::vector<Tensor> memory;
  Keys keys;
};

/// k [B, G, Tk, D] and v [B, G, Tk, Dv] in the case's type and form.
HeldKeys held_keys(const AttentionCase& problem, const Tensor& k, const Tensor& v);

}  // namespace heed
