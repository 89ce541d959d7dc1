// How much memory `look` and `serve` may take, and what they keep in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/options/option.h"
#include "heed/session.h"

namespace heed::cli {

struct MemoryOptions {
  KeptAttention keep = {};
  bool stream = false;                     // weights stay in the file
  std::optional<std::int64_t> limit = {};  // bytes; none: what is free
};

/// --keep, --keep-layers, --stream, --memory.
void add_memory_options(OptionList& list, MemoryOptions& options);

/// Whether a session that takes so many bytes is worth a line: 1 GiB, or half of what is free.
bool is_much_memory(std::int64_t bytes, std::optional<std::int64_t> free);

/// Before the pass of a session whose tokens are known: reads streamed weights into memory where
/// the session fits beside them, says on stderr what it takes where that is much, and throws
/// TooLittleMemory where it does not fit.
void make_room(std::string_view command, const LoadedModel& model, const Session& session,
               SessionOptions session_options, const MemoryOptions& options);

/// Says on stderr how far rounding q and k moves scores and weights.
void tell_of_rounding(std::string_view command, const Session& session);

}  // namespace heed::cli
