// How much memory a session takes, before it takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/inspect/session.h"

namespace heed {

/// In bytes.
struct SessionMemory {
  std::int64_t weights = 0;  // streamed ones, if they are read into memory
  std::int64_t kept = 0;     // what the session holds behind its pass
  std::int64_t pass = 0;     // what the pass takes and gives back, one streamed matrix included
  std::int64_t fixed = 0;    // of that, what does not grow with the text

  std::int64_t streamed() const { return kept + pass; }
  std::int64_t whole() const { return weights + kept + pass; }
};

/// q, k, v, both halves of lse, statistics, the residual stream and logits, of a session that keeps
/// `keep`.
std::int64_t kept_bytes(const Session& session, const KeptAttention& keep,
                        const SessionOptions& options);

/// An upper bound, of a session whose tokens are known; what is held already is not counted.
SessionMemory session_memory(const Session& session, const LoadedModel& model,
                             const SessionOptions& options);

/// What `options` let a session take; none where neither they nor the system say.
std::optional<std::int64_t> memory_of(const SessionOptions& options);

/// Throws TooLittleMemory, with what would fit, unless the pass with streamed weights fits.
void require_memory(const Session& session, const LoadedModel& model,
                    const SessionOptions& options);

/// Reads streamed weights into memory where they leave a quarter of it free. `memory`: bytes; none:
/// what is free. Returns whether the model holds all of its weights.
bool hold_if_room(Model& model, std::optional<std::int64_t> memory);

/// "3.6 GiB", "12 MiB".
std::string bytes_text(std::int64_t bytes);

/// Reads "6G", "512M" (2^30 and 2^20 bytes). Throws kInvalidArgument for `memory`.
std::int64_t read_bytes(std::string_view text);

/// Gives the system the large pieces that passes and sweeps have freed, which tensors and glibc
/// would keep for the next ones. Call it after work that is not soon repeated.
void return_memory();

/// Before a server begins its threads: glibc would give each of them memory of its own, and keeps
/// the end of it that answers have freed, half a megabyte to some tens a thread.
void share_memory();

}  // namespace heed
