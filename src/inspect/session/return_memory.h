// Gives the system what passes and sweeps have freed.
#pragma once

namespace heed {

/// They free large pieces, which tensors and glibc would keep for the next ones: after work that
/// is not soon repeated.
void return_memory();

/// Before a server begins its threads: glibc would give each of them memory of its own, and keeps
/// the end of it that answers have freed, half a megabyte to some tens a thread.
void share_memory();

}  // namespace heed
