// Times a server under a page's requests, over loopback HTTP, and measures its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "heed/model.h"
#include "heed/tensor.h"
#include "heed/tokenizer.h"
#include "inspect/answers/live_session.h"

namespace heed {

struct ServerFigure {
  std::string name;
  double value = 0;
  std::string unit;
  double limit = 0;       // 0: none
  double processor = -1;  // the same in processor time over all threads; -1: unknown
};

/// Opens a text of about `tokens` tokens, sends a page's requests before and after the statistics
/// are ready, and calls `done` with each result. Client and server share this process.
void time_server(const LoadedModel& model, std::int64_t tokens,
                 const std::function<void(const ServerFigure&)>& done);

/// The same over random q, k and v of one causal layer, without a model.
void time_arrays(std::int64_t heads, std::int64_t tokens,
                 const std::function<void(const ServerFigure&)>& done);

/// Words of a small list in random order, cut where `tokens` tokens end.
std::string random_text(const Tokenizer& tokenizer, std::int64_t tokens);

/// q, k and v of one causal layer, heads of 64.
struct RandomArrays {
  RandomArrays(std::int64_t heads, std::int64_t tokens);
  SessionPointer opened() const;

  Tensor q, k, v;
};

}  // namespace heed
