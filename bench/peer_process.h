// Other libraries, which a process of Python runs: bench/peers/attention.py tells how they are
// asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"

namespace heed {

/// The text of bench/peers/attention.py.
extern const char* const kPeersScript;

class PeerProcess {
 public:
  /// Starts `python`, a path or a name in $PATH; what it writes to stderr goes to this process's.
  /// Throws kNotFound if the program does not exist.
  explicit PeerProcess(const std::string& python);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  struct Peer {
    std::string name;
    std::int64_t peak_bytes = -1;  // that one run adds; -1 where the system does not say
  };
  /// Makes the tensors of a case; the libraries that can compute it.
  std::vector<Peer> prepare(const Json& problem);
  /// Runs one of them again and again until `seconds` have passed, at least once. Returns the
  /// seconds of each run.
  std::vector<double> time(const std::string& peer, double seconds);

 private:
  Json ask(const Json& question);

  std::string python_;
  int process_ = -1;
  int channel_ = -1;  // its input and output
  std::string unread_;
};

}  // namespace heed
