// Gives the system what passes and sweeps have freed.
#pragma once

namespace heed {

/// They free large pieces, which tensors and glibc would keep for the next ones: after work that
/// is not soon repeated.
void return_memory();

}  // namespace heed
