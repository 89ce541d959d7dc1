// Ctrl-C ends the program at once with status 130; while an InterruptScope lives, it waits for the
// next check, so that unfinished work can be undone.
#pragma once

#include <atomic>

namespace heed::cli {

inline constexpr int kInterruptedStatus = 130;

/// Installs the handler of SIGINT and SIGTERM.
void catch_interrupts();

/// While it lives, the first Ctrl-C only sets the flag (a second one ends the program). Scopes may
/// nest.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool interrupted();
/// The flag itself, for work that polls it.
const std::atomic<bool>& interrupt_flag();

/// Throws kInterrupted if the flag is set.
void check_interrupted();

}  // namespace heed::cli
