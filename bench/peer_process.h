// Other libraries, run by a Python process: bench/peers/attention.py describes the protocol.
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
  /// Starts `python`, a path or a name in $PATH; its stderr goes to this process's. Throws
  /// kNotFound if the program does not exist.
  explicit PeerProcess(const std::string& python);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  struct Peer {
    std::string name;
    std::int64_t peak_bytes = -1;  // added by one run; -1 if the system does not report it
  };
  /// Makes the tensors of a case; returns the libraries that can compute it.
  std::vector<Peer> prepare(const Json& problem);
  /// Runs one of them repeatedly until `seconds` have passed, at least once. Returns the seconds of
  /// each run.
  std::vector<double> time(const std::string& peer, double seconds);

 private:
  Json ask(const Json& question);

  std::string python_;
  int process_ = -1;
  int channel_ = -1;  // its input and output
  std::string unread_;
};

}  // namespace heed
