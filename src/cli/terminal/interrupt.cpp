#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "heed/error.h"

namespace heed::cli {
namespace {

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // set by the handler
volatile std::sig_atomic_t deferred = 0;

extern "C" void on_interrupt(int) {
  if (deferred == 0 || flag) _exit(kInterruptedStatus);
  flag = true;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptScope::InterruptScope() { deferred = deferred + 1; }
InterruptScope::~InterruptScope() { deferred = deferred - 1; }

const std::atomic<bool>& interrupt_flag() { return flag; }
bool interrupted() { return flag; }

void check_interrupted() {
  if (interrupted()) fail({.code = ErrorCode::kInterrupted, .found = "interrupted"});
}

}  // namespace heed::cli
