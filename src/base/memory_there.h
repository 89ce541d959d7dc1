// How much memory the machine has.
#pragma once

namespace heed {

/// Bytes that this process may have: the machine's, or what its control group allows where that is
/// less.
double memory_there();

}  // namespace heed
