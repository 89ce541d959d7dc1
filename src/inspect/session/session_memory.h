// Estimates the memory of a session before its pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/session.h"

namespace heed {

/// The estimate, in bytes.
struct SessionMemory {
  std::int64_t weights = 0;  // streamed weights, if they are read into memory
  std::int64_t kept = 0;     // kept by the session after its pass
  std::int64_t pass = 0;     // used during the pass only, including one streamed matrix
  std::int64_t fixed = 0;    // the part of `pass` that does not grow with the text

  std::int64_t streamed() const { return kept + pass; }
  std::int64_t whole() const { return weights + kept + pass; }
};

/// Returns the bytes of q, k, v, both halves of lse, statistics, the residual stream and logits in
/// a session that keeps `keep`.
std::int64_t kept_bytes(const Session& session, const KeptAttention& keep,
                        const SessionOptions& options);

/// Returns an upper bound for a session whose tokens are known. Memory that is in use already is
/// not counted.
SessionMemory session_memory(const Session& session, const LoadedModel& model,
                             const SessionOptions& options);

/// Returns how much memory `options` allow a session; none if neither they nor the system set a
/// limit.
std::optional<std::int64_t> memory_of(const SessionOptions& options);

/// Throws TooLittleMemory, with what would fit, if the pass does not fit even with streamed
/// weights.
void require_memory(const Session& session, const LoadedModel& model,
                    const SessionOptions& options);

/// Reads streamed weights into memory if they leave a quarter of it free. `memory` is in bytes;
/// none: the free memory. Returns whether the model then holds all of its weights.
bool hold_if_room(Model& model, std::optional<std::int64_t> memory);

/// "3.6 GiB", "12 MiB".
std::string bytes_text(std::int64_t bytes);

/// Parses "6G", "512M" (2^30 and 2^20 bytes). Throws kInvalidArgument, which names `memory`.
std::int64_t read_bytes(std::string_view text);

/// Returns freed heap memory to the OS (malloc_trim). Call it after work that is not repeated soon.
/// Passes and sweeps free large blocks, which tensors and glibc would otherwise keep for later
/// allocations.
void return_memory();

/// Call it before a server starts its threads. By default glibc gives each thread its own arena and
/// keeps the freed end of it: half a megabyte to some tens of megabytes per thread.
void share_memory();

}  // namespace heed
