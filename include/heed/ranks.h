// Attention computed by several processes: how they are started, and ring attention.
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

/// Bytes in transit: until `wait` returns, neither side may touch the memory.
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

/// This process among its peers. Every rank must make the same calls in the same order: if one
/// omits a call, the others wait for it. A transport implements two numbers and one function; heed
/// has one for MPI (`open_ranks`), tests have one for threads.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;   // in [0, count())
  virtual int count() const = 0;  // at least 1

  /// Begins to send and to receive. Messages between two ranks on one `channel` arrive in order,
  /// each with the length that was sent.
  virtual std::unique_ptr<Transfer> start(std::span<const Outgoing> out,
                                          std::span<const Incoming> in, int channel) = 0;
};

/// Collects every rank's bytes on every rank, the same number from each; `all` begins with those of
/// rank 0.
void gather(Ranks& ranks, std::span<const std::byte> own, std::span<std::byte> all);

/// Copies rank 0's bytes to every rank.
void broadcast(Ranks& ranks, std::span<std::byte> bytes);

/// Replaces values[i] by its sum over the ranks, added in f64 in rank order: every rank and every
/// run gets the same bits on any network. Each rank sums its share and sends it to the others, in
/// total 2 (count - 1) / count of the values, as much as a ring sends.
void sum(Ranks& ranks, std::span<float> values);

/// Thrown on a rank whose own work succeeded, because another rank's failed.
class AnotherRankFailed : public std::exception {
 public:
  const char* what() const noexcept override { return "another rank has failed"; }
};

/// Runs `work` on every rank. Each rank learns how the others ended, so none waits for a failed
/// one. The lowest failed rank throws its own exception, the others throw AnotherRankFailed. If the
/// only failure is kInterrupted, all ranks throw it.
void run_together(Ranks& ranks, const std::function<void()>& work);

/// How many processes were started together with this one, according to the environment (Open MPI's
/// or PMI's); 1 if it was started alone.
int started_ranks();

class StartedRanks : public Ranks {
 public:
  /// Ends every rank's process, for a rank that cannot continue while the others would wait for it.
  virtual void end_all(int status) = 0;
};

/// Joins the started processes: MPI is active from this call until the returned object is
/// destroyed, once per process. Null if `started_ranks` is 1. MPI is in a separate module
/// (heed_mpi.so beside the program or in ../lib/heed), so a single process never loads it;
/// kUnsupported if the module is missing.
std::unique_ptr<StartedRanks> open_ranks();

/// The number of CPUs that this process may use, divided by the ranks of this machine that share
/// them; at least 1. With this many threads no rank's thread waits for another's.
int fair_thread_count(Ranks& ranks);

/// How the text's tokens are divided among the ranks.
enum class RingSplit : std::uint8_t {
  kContiguous,  // rank r of p holds part r of p: with a causal mask the last rank works most
  kZigzag,      // parts r and 2 p - 1 - r of 2 p: with a causal mask all ranks work equally
};

/// Tokens [begin, end) of the whole text.
struct RingPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The parts that rank `rank` of `count` holds of `length` tokens, in the order in which it holds
/// them.
std::vector<RingPart> ring_parts(RingSplit split, std::int64_t length, int rank, int count);

/// Self-attention of `length` tokens, of which this rank holds its `ring_parts`, concatenated:
/// `local` has q [B, H, T, D], k and v [B, G, T, D] of its T tokens. Everything else in it (mask,
/// bias, slopes, sink, dropout, scale) is for the whole text, [B, H, length, length], and the same
/// on every rank. No extents, pages, rings or scales of keys.
struct RingAttentionArgs {
  AttentionArgs local = {};
  std::int64_t length = 0;
  RingSplit split = RingSplit::kZigzag;
};

/// out [B, H, T, Dv] and lse [B, H, T] of this rank's rows, equal within rounding to attention over
/// the whole text (Liu, Zaharia & Abbeel 2023): keys and values travel around the ring while each
/// rank computes with those it has, and `merge` joins the parts. A rank holds the keys and values
/// of two ranks at a time and no T x T. Parts that are fully masked are not computed. 16-bit parts
/// are joined in f32 and rounded once.
///
/// If the arguments of the ranks do not fit together, all ranks get the same error.
Attended ring_attention(Ranks& ranks, const RingAttentionArgs& args);

/// dq, dk and dv of this rank's tokens for the cotangent `dout` of its rows; dsink is the whole
/// text's, on every rank. dbias, dslope, dscale and dlse are not supported. Gradients of keys
/// travel around the ring with the keys and return to their rank. They are added in f32 in ring
/// order, so every run gives the same bits.
AttentionGrads ring_attention_backward(Ranks& ranks, const RingAttentionArgs& args,
                                       const Attended& attended, const ConstView& dout,
                                       const AttentionGradRequest& request = {});

}  // namespace heed
