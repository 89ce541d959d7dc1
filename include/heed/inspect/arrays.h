// A session of arrays that somebody else computed: any attention whose q, k and v are at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// One layer that somebody else computed, of one sequence: q [1, H, Tq, D], k [1, G, Tk, D],
/// v [1, G, Tk, Dv] in f32, with everything that scored them.
struct LayerArrays {
  AttentionArgs args = {};
  ConstView lse = {};      // [1, H, Tq]; not given: computed
  ConstView lse_low = {};  // what f32 could not hold of it; not given: 0
};

struct StackArrays {
  Stack stack = Stack::kSelf;
  std::vector<LayerArrays> layers = {};
};

struct SessionArrays {
  std::string name = "arrays";
  std::vector<std::string> tokens = {};      // of the queries; empty: their indices
  std::vector<std::string> key_tokens = {};  // of the keys; empty: as `tokens` where they are as
                                             // many, else their indices
  std::vector<StackArrays> stacks = {};
  std::optional<std::int64_t> split = {};  // of a pair: the first token of the second text
  std::vector<SessionImage> images = {};   // each of their tokens is named by its cell
  /// The layers are weights: their bias is ln of them, q and k are 0 and stand for nothing.
  bool only_weights = false;
};

/// Copies the arrays. A stack may be rectangular; all of them have the same queries and keys.
/// Errors name the array.
Session open_session(const SessionArrays& arrays);

/// Whether the session was opened with `only_weights`: its scores have no parts to show.
bool has_only_weights(const Session& session);

}  // namespace heed
