// Processes that compute one thing together, on one machine or on many.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace heed {

/// Bytes on their way, until `wait` has returned: neither side's memory is touched meanwhile.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;
};

struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes;
};

struct Incoming {
  int from = 0;
  std::span<std::byte> bytes;
};

/// This process among its peers. Every rank makes the same calls in the same order: what one of
/// them leaves out, the others wait for. A transport is one function more than two numbers: MPI has
/// one here (`open_ranks`), tests have one of threads.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;   // in [0, count())
  virtual int count() const = 0;  // at least 1

  /// Begins to send and to receive; messages between two ranks on one `channel` arrive in their
  /// order, each as long as it was sent.
  virtual std::unique_ptr<Transfer> start(std::span<const Outgoing> out,
                                          std::span<const Incoming> in, int channel) = 0;
};

/// Every rank's bytes, equally many of each, on every rank: `all` holds those of rank 0 first.
void gather(Ranks& ranks, std::span<const std::byte> own, std::span<std::byte> all);

/// Rank 0's bytes on every rank.
void broadcast(Ranks& ranks, std::span<std::byte> bytes);

/// values[i] = its sum over the ranks, added up in f64 in the order of ranks: the same bits on
/// every rank and in every run, however the network is. Each rank adds up its share of them and
/// sends those to the others, 2 (count - 1) / count of the values in all, as much as a ring would.
void sum(Ranks& ranks, std::span<float> values);

/// Thrown on a rank whose work went well, because another rank's did not.
class AnotherRankFailed : public std::exception {
 public:
  const char* what() const noexcept override { return "another rank has failed"; }
};

/// `work` on every rank, each of which learns how the others' ended, and so none waits for one that
/// has failed. The lowest rank that failed throws what its work threw, the others
/// AnotherRankFailed. Where work was only left (kInterrupted), all of them throw that.
void run_together(Ranks& ranks, const std::function<void()>& work);

}  // namespace heed
