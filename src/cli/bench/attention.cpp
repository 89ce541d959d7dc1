// heed bench attention, heed bench backward: the operator alone, case by case.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/formats/json.h"
#include "base/machine.h"
#include "bench/attention_bench.h"
#include "cli/bench/bench.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

Json as_json(const AttentionTiming& timing) {
  JsonFields fields = {as_json(timing.problem)};
  HEED_FIELDS(fields, timing.kernel, timing.threads, timing.seconds, timing.spread, timing.gflops,
              timing.peak_gflops, timing.fraction_of_peak, timing.gbytes_per_second,
              timing.read_gbytes_per_second);
  Json& json = fields.json;
  if (timing.peak_bytes >= 0) json.set("peak_bytes", timing.peak_bytes);
  for (const PeerTiming& peer : timing.peers) {
    Json peers = json["peers"];
    Json one = {{"seconds", peer.seconds},
                {"spread", peer.spread},
                {"ratio", peer.seconds / timing.seconds}};
    if (peer.peak_bytes >= 0) one.set("peak_bytes", peer.peak_bytes);
    peers.set(peer.name, std::move(one));
    json.set("peers", std::move(peers));
  }
  return json;
}

constexpr const char* kRowFormat = "{:<23} {:<11} {:>3} {:>3} {:>6} {:>4}  {:<8}";

std::string attention_heading(bool has_peers) {
  return fmt::format("{}, threads: {}\n", cpu_name(), thread_count()) +
         fmt::format(kRowFormat, "case", "kernel", "H", "G", "N", "D", "mask") +
         "  milliseconds  spread  GFLOP/s  of peak  MiB more" +
         (has_peers ? "  peers: milliseconds (times heed's)\n" : "\n");
}

// "sdpa 12.3 (1.21), flex 14.0 (1.38)": milliseconds, and their ratio to heed's.
std::string peers_text(const AttentionTiming& timing) {
  std::string text;
  for (const PeerTiming& peer : timing.peers)
    text += fmt::format("{}{} {:.4g} ({:.2f})", text.empty() ? "  " : ", ", peer.name,
                        peer.seconds * 1e3, peer.seconds / timing.seconds);
  return text;
}

std::string as_row(const AttentionTiming& timing) {
  const AttentionCase& problem = timing.problem;
  return fmt::format(kRowFormat, problem.name, timing.kernel, problem.heads, problem.kv_heads,
                     problem.query_length, problem.head_dim, mask_word(problem)) +
         fmt::format(
             "  {:>12.4f}  {:>5.1f}%  {:>7.1f}  {:>6.1f}%{}{}\n", timing.seconds * 1e3,
             timing.spread * 100, timing.gflops, timing.fraction_of_peak * 100,
             timing.peak_bytes < 0
                 ? std::string()
                 : fmt::format("  {:>8.1f}", static_cast<double>(timing.peak_bytes) / (1 << 20)),
             peers_text(timing));
}

std::string limits(const AttentionTiming& timing) {
  return fmt::format(
      "peak {:.1f} GFLOP/s of f32 multiply-adds beside the last case; reading memory {:.1f} GB/s\n",
      timing.peak_gflops, timing.read_gbytes_per_second);
}

int bench_pass(const BenchOptions& options, BenchPass pass) {
  const std::vector<AttentionCase> cases = choose_bench_cases(options.cases);
  std::optional<PeerProcess> peers;
  if (!options.peers.empty()) peers.emplace(options.peers);
  AttentionTiming last;
  BenchTable table(options.json, names_of(cases), attention_heading(peers.has_value()));
  time_attention(cases, pass, options.kernel, peers ? &*peers : nullptr,
                 [&](const AttentionTiming& timing) {
                   table.add(timing.problem.name, timing.spread, as_row(timing), as_json(timing));
                   last = timing;
                 });
  table.finish(limits(last));
  return 0;
}

}  // namespace

int bench_attention(const BenchOptions& options) {
  return bench_pass(options, BenchPass::kForward);
}

int bench_backward(const BenchOptions& options) {
  return bench_pass(options, BenchPass::kBackward);
}

}  // namespace heed::cli
