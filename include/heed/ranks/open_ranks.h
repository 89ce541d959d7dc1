// The processes that mpirun, or another of MPI's starters, has started beside this one.
#pragma once

#include <memory>

#include "heed/ranks/ranks.h"

namespace heed {

/// How many processes this one was started among, as the starter's environment says (Open MPI's or
/// PMI's); 1 without one.
int started_ranks();

class StartedRanks : public Ranks {
 public:
  /// Ends every rank's process; for one that cannot go on, since the others would wait for it.
  virtual void end_all(int status) = 0;
};

/// Joins the started processes: MPI lives from here until what is returned goes, once in a process.
/// Null where `started_ranks` is 1. MPI is in a module of its own (heed_mpi.so beside the program
/// or in ../lib/heed), so that a process by itself never loads it; kUnsupported where there is
/// none.
std::unique_ptr<StartedRanks> open_ranks();

/// The CPUs that this process may use, divided among the ranks of this machine that may use the
/// same ones; at least 1. So many threads as leave none waiting for another's.
int fair_thread_count(Ranks& ranks);

}  // namespace heed
