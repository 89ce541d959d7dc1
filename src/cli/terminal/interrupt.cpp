#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "heed/base/error.h"

namespace heed::cli {
namespace {

volatile std::sig_atomic_t flag = 0;
volatile std::sig_atomic_t deferred = 0;

extern "C" void on_interrupt(int) {
  if (deferred == 0 || flag != 0) _exit(kInterruptedStatus);
  flag = 1;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptScope::InterruptScope() { deferred = deferred + 1; }
InterruptScope::~InterruptScope() { deferred = deferred - 1; }

bool interrupted() { return flag != 0; }

void check_interrupted() {
  if (interrupted()) fail({.code = ErrorCode::kInterrupted, .found = "interrupted"});
}

}  // namespace heed::cli
