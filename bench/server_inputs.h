// What the server's benchmark opens: a text, and arrays.
#pragma once

#include <cstdint>
#include <string>

#include "heed/tensor.h"
#include "heed/text/tokenizer.h"
#include "inspect/answers/live_session.h"

namespace heed {

/// Words of a small list in random order, cut where `tokens` tokens end.
std::string random_text(const Tokenizer& tokenizer, std::int64_t tokens);

/// q, k and v of one causal layer, heads of 64.
struct RandomArrays {
  RandomArrays(std::int64_t heads, std::int64_t tokens);
  SessionPointer opened() const;

  Tensor q, k, v;
};

}  // namespace heed
