// Parallel loops that stay on one thread.
#pragma once

namespace heed {

/// While one lives, the parallel loops of the thread that made it run on that thread alone: for a
/// server, whose requests are parallel already.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

}  // namespace heed
