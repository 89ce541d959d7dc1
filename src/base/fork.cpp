#include "base/fork.h"

#include <pthread.h>

#include <vector>

namespace heed {
namespace {

struct Held {
  std::mutex guard;
  std::vector<std::mutex*> mutexes;

  static Held& instance() {
    static auto* const held = [] {
      pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); },
                     [] { instance().unlock(); });
      return new Held;
    }();
    return *held;
  }

  void lock() {
    guard.lock();
    for (std::mutex* const mutex : mutexes) mutex->lock();
  }
  void unlock() {
    for (std::mutex* const mutex : mutexes) mutex->unlock();
    guard.unlock();
  }
};

}  // namespace

void hold_across_fork(std::mutex& mutex) {
  Held& held = Held::instance();
  const std::scoped_lock lock(held.guard);
  held.mutexes.push_back(&mutex);
}

}  // namespace heed
