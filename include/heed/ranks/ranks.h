// Several processes that compute one attention: how they are opened, and ring attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "heed/attention.h"

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

/// How many processes this one was started among, as the starter's environment says (Open MPI's or
/// PMI's); 1 without one.
int started_ranks();

class StartedRanks : public Ranks {
 public:
  /// Ends every rank's process; for one that cannot go on, since the others would wait for it.
  virtual void end_all(int status) = 0;
};

/// Joins the started processes: MPI lives from here until what is returned goes, once in a process.
/// Null where `started_ranks` is 1. MPI is in a module of its own (heed_mpi.so beside the program
/// or in ../lib/heed), so that a process by itself never loads it; kUnsupported where there is
/// none.
std::unique_ptr<StartedRanks> open_ranks();

/// The CPUs that this process may use, divided among the ranks of this machine that may use the
/// same ones; at least 1. So many threads as leave none waiting for another's.
int fair_thread_count(Ranks& ranks);

/// How the text's tokens lie over the ranks.
enum class RingSplit : std::uint8_t {
  kContiguous,  // rank r of p holds part r of p: under a causal mask the last rank does the most
  kZigzag,      // parts r and 2 p - 1 - r of 2 p: under a causal mask all do the same
};

/// Tokens [begin, end) of the whole text.
struct RingPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What rank `rank` of `count` holds of `length` tokens, in the order in which it holds them.
std::vector<RingPart> ring_parts(RingSplit split, std::int64_t length, int rank, int count);

/// Self-attention of `length` tokens, of which this rank holds its `ring_parts`, side by side:
/// `local` has q [B, H, T, D], k and v [B, G, T, D] of the T tokens here. All else in it (mask,
/// bias, slopes, sink, dropout, scale) is as for the whole text, [B, H, length, length], the same
/// on every rank. No extents, pages, rings or scales of keys.
struct RingAttentionArgs {
  AttentionArgs local = {};
  std::int64_t length = 0;
  RingSplit split = RingSplit::kZigzag;
};

/// out [B, H, T, Dv] and lse [B, H, T] of this rank's rows, as attention over the whole text gives
/// them, within rounding (Liu, Zaharia & Abbeel 2023): keys and values go around the ring while
/// each rank computes with those it has, and the parts are joined by `merge`. A rank holds two
/// ranks' keys and values at a time and no T x T. Parts that the mask leaves empty are not
/// computed. Of 16 bit, parts are joined in f32 and rounded once.
///
/// Every rank calls it with arguments that fit together, or all of them get the same error.
Attended ring_attention(Ranks& ranks, const RingAttentionArgs& args);

/// dq, dk and dv of this rank's tokens for the cotangent `dout` of its rows; dsink is the whole
/// text's, on every rank. dbias, dslope, dscale and dlse are not served. Gradients of keys go
/// around the ring with them and come home: added up in f32 in the order of the ring, the same bits
/// in every run.
AttentionGrads ring_attention_backward(Ranks& ranks, const RingAttentionArgs& args,
                                       const Attended& attended, const ConstView& dout,
                                       const AttentionGradRequest& request = {});

}  // namespace heed
