// Ctrl-C: ends the program at once with status 130, or, while an InterruptScope lives, waits for
// the next check so that what is half done can be undone.
#pragma once

#include <atomic>

namespace heed::cli {

inline constexpr int kInterruptedStatus = 130;

/// Installs the handler of SIGINT and SIGTERM.
void catch_interrupts();

/// While one lives, the first Ctrl-C only raises the flag (a second one ends the program). Scopes
/// may nest.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool interrupted();
/// The flag itself, for work that looks at it while it runs.
const std::atomic<bool>& interrupt_flag();

/// Throws kInterrupted when the flag is up.
void check_interrupted();

}  // namespace heed::cli
