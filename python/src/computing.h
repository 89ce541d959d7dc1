// Work without the GIL that Ctrl-C can end.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <functional>

#include "base/stop.h"
#include "heed/error.h"

namespace heed::python {

/// One computing call. The interpreter waits for all of them before it ends: a thread that returned
/// to Python later would be terminated inside C++.
class Computation {
 public:
  /// Throws SystemExit once the interpreter ends, which `threading` does not report. An interpreter
  /// that ends while a thread writes a traceback aborts.
  Computation();
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
};

/// Whether this thread should stop because the interpreter ends.
bool interpreter_ends();

/// Regularly lets Python run signal handlers and checks whether one raised: for Ctrl-C, or the
/// caller's timer.
class SignalWatch {
 public:
  bool operator()() {
    if (interpreter_ends()) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < kPause) return false;
    const nanobind::gil_scoped_acquire held;
    const bool raised = PyErr_CheckSignals() != 0;
    asked_ = std::chrono::steady_clock::now();
    return raised;
  }

 private:
  // Taking the GIL from a busy Python thread can take 5 ms.
  static constexpr auto kPause = std::chrono::milliseconds(100);
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

/// Runs `work` while other Python threads run. An exception from a signal handler ends it.
template <typename Work>
auto computing(const Work& work) {
  const std::function<bool()> signalled = SignalWatch();
  const Computation counted;
  try {
    const nanobind::gil_scoped_release released;
    const AskScope scope(signalled);
    return work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted && PyErr_Occurred() != nullptr)
      throw nanobind::python_error();
    throw;
  }
}

void bind_computing(nanobind::module_& module);

}  // namespace heed::python
