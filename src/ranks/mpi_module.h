// The interface of the module that is loaded if MPI has started several processes.
#pragma once

#include "heed/ranks.h"

extern "C" {
/// Initialises MPI. The caller deletes the result, which ends MPI.
heed::StartedRanks* heed_open_mpi_ranks();
}

namespace heed {
inline constexpr const char* kMpiModule = "heed_mpi.so";
inline constexpr const char* kMpiModuleOpens = "heed_open_mpi_ranks";
}  // namespace heed
