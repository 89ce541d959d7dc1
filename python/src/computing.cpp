#include "computing.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/fork.h"

namespace heed::python {
namespace {

constexpr auto kMostWait = std::chrono::seconds(30);

struct Calls {
  std::mutex guard;
  std::condition_variable changed;
  int running = 0;
  std::atomic<bool> ending = false;
  std::thread::id ends;  // the thread that ends the interpreter may still compute

  static Calls& instance() {
    static auto* const calls = [] {
      auto* const made = new Calls;
      hold_across_fork(made->guard);
      // After fork() only this thread exists: no other call is running.
      pthread_atfork(nullptr, nullptr, [] { instance().running = 0; });
      return made;
    }();
    return *calls;
  }
};

// Called with the GIL by atexit: after it returns, no other thread computes.
void end_computations() {
  Calls& calls = Calls::instance();
  const nanobind::gil_scoped_release released;
  std::unique_lock lock(calls.guard);
  calls.ends = std::this_thread::get_id();
  calls.ending.store(true, std::memory_order_release);
  calls.changed.wait_for(lock, kMostWait, [&] { return calls.running == 0; });
}

}  // namespace

bool interpreter_ends() {
  const Calls& calls = Calls::instance();
  return calls.ending.load(std::memory_order_acquire) && calls.ends != std::this_thread::get_id();
}

Computation::Computation() {
  Calls& calls = Calls::instance();
  const std::scoped_lock lock(calls.guard);
  if (interpreter_ends()) {
    PyErr_SetNone(PyExc_SystemExit);
    throw nanobind::python_error();
  }
  ++calls.running;
}

Computation::~Computation() {
  Calls& calls = Calls::instance();
  {
    const std::scoped_lock lock(calls.guard);
    --calls.running;
  }
  calls.changed.notify_all();
}

void bind_computing(nanobind::module_& module) {
  module.def("end_computations", &end_computations);
  nanobind::module_::import_("atexit").attr("register")(module.attr("end_computations"));
}

}  // namespace heed::python
