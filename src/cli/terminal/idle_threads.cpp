#include "cli/terminal/idle_threads.h"

#include <unistd.h>

#include <cstdlib>

namespace heed::cli {

void spin_shortly(char** arguments) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  // Of 300, 1000, 3000, 10000 and 30000 the largest that costs a shared machine little.
  if (::setenv("GOMP_SPINCOUNT", "3000", 1) != 0) return;
  ::execv("/proc/self/exe", arguments);  // where it fails, all works as before
}

}  // namespace heed::cli
