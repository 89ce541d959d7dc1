// Opens a session from arrays computed elsewhere: any attention whose q, k and v are available.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// One layer computed elsewhere, for one sequence: q [1, H, Tq, D], k [1, G, Tk, D], v [1, G, Tk,
/// Dv] in f32, with all arguments of its scores. Without q the layer has no attention: it keeps its
/// number and holds nothing.
struct LayerArrays {
  AttentionArgs args = {};
  ConstView lse = {};      // [1, H, Tq]; default: computed
  ConstView lse_low = {};  // the remainder of lse that f32 could not hold; default: 0
};

struct StackArrays {
  Stack stack = Stack::kSelf;
  std::vector<LayerArrays> layers = {};
};

struct SessionArrays {
  std::string name = "arrays";
  std::vector<std::string> tokens = {};      // the queries' tokens; empty: their indices
  std::vector<std::string> key_tokens = {};  // of the keys; empty: `tokens` if as many, else
                                             // indices
  std::vector<StackArrays> stacks = {};
  std::optional<std::int64_t> split = {};  // of a pair: the first token of the second text
  std::vector<SessionImage> images = {};   // each of their tokens is named by its cell
  /// The layers are weights: their bias is ln of them, q and k are 0 and stand for nothing.
  bool only_weights = false;
};

/// Copies the arrays. Queries and keys may differ in number; all layers have the same ones. Errors
/// name the array.
Session open_session(const SessionArrays& arrays);

/// Whether the session was opened with `only_weights`: its scores have no parts to show.
bool has_only_weights(const Session& session);

}  // namespace heed
