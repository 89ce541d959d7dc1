#include "bench/attention_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "attention/api/checked.h"
#include "bench/attention_cases.h"
#include "bench/choose_cases.h"
#include "bench/machine_limits.h"
#include "bench/measure.h"
#include "heed/attention.h"
#include "heed/threads.h"

namespace heed {
namespace {

constexpr int kRounds = 5;
constexpr double kSecondsATurn = 0.1;

// The case and the pass that heed and the peers compute alternately.
struct Turns {
  const AttentionCase* problem = nullptr;
  BenchPass pass = BenchPass::kForward;
  PeerProcess* peers = nullptr;
};

// Alternates heed and each peer, so that a slower clock affects all of them.
Repeated take_turns(const Turns& turns, const std::function<void()>& work,
                    std::vector<PeerTiming>& found) {
  Json asked = as_json(*turns.problem);
  asked.set("pass", turns.pass == BenchPass::kBackward ? "backward" : "forward");
  asked.set("threads", thread_count());
  const std::vector<PeerProcess::Peer> peers = turns.peers->prepare(asked);
  std::vector<double> own;
  std::vector<std::vector<double>> theirs(peers.size());
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::copy(times_within(kSecondsATurn, work), std::back_inserter(own));
    for (std::size_t peer = 0; peer < peers.size(); ++peer)
      std::ranges::copy(turns.peers->time(peers[peer].name, kSecondsATurn),
                        std::back_inserter(theirs[peer]));
  }
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    const Repeated times = summary(std::move(theirs[peer]));
    found.push_back({peers[peer].name, times.seconds, times.spread, peers[peer].peak_bytes});
  }
  return summary(std::move(own));
}

AttentionTiming timed(const Turns& turns, const Plan& plan, const std::function<void()>& work) {
  AttentionTiming timing = {
      .problem = *turns.problem, .kernel = plan.kernel, .threads = thread_count()};
  timing.peak_bytes = peak_bytes_of(work);
  const Repeated times =
      turns.peers == nullptr ? repeat(work) : take_turns(turns, work, timing.peers);
  timing.seconds = times.seconds;
  timing.spread = times.spread;
  timing.gflops = plan.flop / timing.seconds * 1e-9;
  timing.gbytes_per_second = plan.bytes / timing.seconds * 1e-9;
  timing.peak_gflops = peak_gflops(timing.threads);
  timing.fraction_of_peak = timing.gflops / timing.peak_gflops;
  return timing;
}

AttentionTiming time_case(const Turns& turns, const AttentionArgs& args, const Tensor& dout) {
  const Attended attended = attention(args);
  if (turns.pass == BenchPass::kForward) {
    Tensor out = Tensor::empty(attended.out.shape(), args.q.dtype());
    return timed(turns, plan_attention(args), [&] { attention(args, {.out = out}); });
  }
  const AttentionGradRequest request = {.dbias = args.scores.bias.given()};
  return timed(turns, plan_attention_backward(args),
               [&] { attention_backward(args, attended, dout, request); });
}

AttentionCase square(std::int64_t length, std::int64_t head_dim) {
  const std::int64_t heads = length >= 16384 ? 1 : length >= 4096 ? 4 : 8;
  return {.heads = heads,
          .kv_heads = heads,
          .query_length = length,
          .key_length = length,
          .head_dim = head_dim,
          .value_dim = head_dim};
}

AttentionCase banded(AttentionCase problem, const Band& band) {
  problem.mask = CaseMask::kBand;
  problem.band = band;
  return problem;
}

class CaseList {
 public:
  void add(std::string_view kind, AttentionCase problem) {
    const std::string type =
        problem.dtype == DType::kF32 ? "" : fmt::format("{}-", name(problem.dtype));
    problem.name = fmt::format("{}{}-n{}-d{}", type, kind, problem.query_length, problem.head_dim);
    cases_.push_back(std::move(problem));
  }
  void add_plain_and_causal(const AttentionCase& plain) {
    add("plain", plain);
    add("causal", banded(plain, kCausal));
  }
  // The masks and numbers of heads timed at one size.
  void add_sized(std::int64_t length, std::int64_t head_dim) {
    AttentionCase plain = square(length, head_dim);
    add_plain_and_causal(plain);
    if (length >= 1024) add("window", banded(plain, {.left = 255, .right = 0}));
    plain.kv_heads = plain.heads / 4;
    add("grouped", plain);
  }
  void add_form(std::string_view kind, const CaseScores& scores) {
    AttentionCase problem = square(kFormLength, 64);
    problem.scores = scores;
    problem.scores.bias_hides = false;
    add(kind, problem);
  }
  void add_mask(std::string_view kind, CaseMask mask) {
    AttentionCase problem = square(kFormLength, 64);
    problem.mask = mask;
    add(kind, problem);
  }
  std::vector<AttentionCase> all() && { return std::move(cases_); }

  static constexpr std::int64_t kFormLength = 2048;
  static constexpr Band kCausal = {.left = -1, .right = 0};

 private:
  std::vector<AttentionCase> cases_;
};

void add_forms(CaseList& list) {
  constexpr std::int64_t kLength = CaseList::kFormLength;
  list.add_plain_and_causal(square(kLength, 64));
  list.add_form("dropout", {.dropout = 0.1});
  list.add_form("bias", {.bias = {1, 8, kLength, kLength}});
  list.add_form("shared-bias", {.bias = {1, 1, kLength, kLength}});
  AttentionCase wide = square(kLength, 64);
  wide.value_dim = 128;
  list.add("wide-values", wide);
  list.add_form("sigmoid", {.normaliser = Normaliser::kSigmoid});
  list.add_form("gaussian", {.similarity = Similarity::kGaussian});
  list.add_form("cosine", {.similarity = Similarity::kCosine});
  list.add_form("absolute", {.similarity = Similarity::kAbsolute});
  list.add_form("softcap", {.softcap = 30});
  list.add_form("alibi", {.alibi = true});
  list.add_form("sink", {.sink = true});
  list.add_form("head-scales", {.scale_a_head = true});
  list.add_mask("keep", CaseMask::kKeep);
  list.add_mask("prefix", CaseMask::kPrefix);
  list.add_mask("segments", CaseMask::kSegments);
  list.add_mask("blocks", CaseMask::kBlocks);
  list.add_mask("edges", CaseMask::kEdges);
}

}  // namespace

std::vector<AttentionCase> attention_bench_cases() {
  CaseList list;
  for (const std::int64_t head_dim : {64, 128}) {
    for (const std::int64_t length : {64, 256, 1024, 4096}) list.add_sized(length, head_dim);
    for (const std::int64_t length : {16, 32, 128, 512, 16384})
      list.add_plain_and_causal(square(length, head_dim));
    for (const DType dtype : {DType::kF16, DType::kBF16})
      for (const std::int64_t length : {256, 1024, 4096}) {
        AttentionCase narrow = square(length, head_dim);
        narrow.dtype = dtype;
        list.add_plain_and_causal(narrow);
      }
  }
  for (const std::int64_t head_dim : {32, 40, 80, 96, 192, 256})
    list.add_plain_and_causal(square(1024, head_dim));
  add_forms(list);
  return std::move(list).all();
}

std::string_view mask_word(const AttentionCase& problem) {
  if (problem.mask == CaseMask::kBand && problem.band.right == 0)
    return problem.band.left < 0 ? "causal" : "window";
  return name(problem.mask);
}

std::vector<AttentionCase> choose_bench_cases(const std::vector<std::string>& names) {
  return choose_cases(attention_bench_cases(), names);
}

Json as_json(const AttentionCase& problem) {
  const CaseScores& scores = problem.scores;
  Json json = {{"case", problem.name},
               {"dtype", name(problem.dtype)},
               {"batch", problem.batch},
               {"heads", problem.heads},
               {"kv_heads", problem.kv_heads},
               {"query_length", problem.query_length},
               {"key_length", problem.key_length},
               {"head_dim", problem.head_dim},
               {"value_dim", problem.value_dim},
               {"mask", mask_word(problem)}};
  if (mask_word(problem) == "window") json.set("keys_back", problem.band.left);
  json.set("scores", {{"similarity", name(scores.similarity)},
                      {"normaliser", name(scores.normaliser)},
                      {"softcap", scores.softcap},
                      {"bias", scores.bias},
                      {"alibi", scores.alibi},
                      {"sink", scores.sink},
                      {"scale_a_head", scores.scale_a_head},
                      {"dropout", scores.dropout}});
  return json;
}

void time_attention(const std::vector<AttentionCase>& cases, BenchPass pass,
                    const std::string& kernel, PeerProcess* peers,
                    const std::function<void(const AttentionTiming&)>& done) {
  const double read = read_gbytes_per_second(thread_count());
  for (const AttentionCase& problem : cases) {
    AttentionInputs inputs(problem);
    inputs.args.kernel = kernel;
    AttentionTiming timing =
        time_case({.problem = &problem, .pass = pass, .peers = peers}, inputs.args, inputs.dout);
    timing.read_gbytes_per_second = read;
    done(timing);
  }
}

}  // namespace heed
