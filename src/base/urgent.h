// Parallel loops that give way to others.
#pragma once

namespace heed {

/// While one lives, the parallel loops of the thread that made it are of the background.
class BackgroundScope {
 public:
  BackgroundScope();
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;

 private:
  bool before_;
};

/// While one lives, on any thread, loops of the background have no helpers: those that are inside
/// leave at their next task, and the loops go on with the thread that began them.
class UrgentScope {
 public:
  UrgentScope();
  ~UrgentScope();
  UrgentScope(const UrgentScope&) = delete;
  UrgentScope& operator=(const UrgentScope&) = delete;
};

}  // namespace heed
