#include "cli/idle_threads.h"

#include <unistd.h>

#include <cstdlib>

namespace heed::cli {

void spin_shortly(char** arguments) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return;  // what libgomp takes when overcommitted
  ::execv("/proc/self/exe", arguments);                    // where it fails, all works as before
}

}  // namespace heed::cli
