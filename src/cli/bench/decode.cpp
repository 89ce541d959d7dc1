// heed bench decode: attention's time per generated token, by form of the cache.
#include <fmt/format.h>

#include "base/formats/json.h"
#include "base/machine.h"
#include "bench/decode_bench.h"
#include "cli/bench/bench.h"
#include "heed/threads.h"

namespace heed::cli {
namespace {

const char* name_of(KvForm form) {
  if (form == KvForm::kPaged) return "paged";
  return form == KvForm::kRing ? "ring" : "contiguous";
}

Json decode_json(const DecodeTiming& timing) {
  JsonFields fields = {{{"case", timing.problem.name},
                        {"kernel", timing.kernel},
                        {"dtype", name(timing.problem.cache.dtype)},
                        {"form", name_of(timing.problem.cache.form)},
                        {"batch", 1},
                        {"heads", kDecodeHeads},
                        {"kv_heads", kDecodeKvHeads},
                        {"query_length", 1},
                        {"key_length", timing.problem.keys},
                        {"head_dim", kDecodeHeadDim},
                        {"value_dim", kDecodeHeadDim},
                        {"mask", "causal"}}};
  HEED_FIELDS(fields, timing.threads, timing.seconds, timing.spread, timing.gbytes_per_second,
              timing.read_gbytes_per_second, timing.tokens_per_second, timing.times_faster);
  return fields.json;
}

std::string decode_heading() {
  return fmt::format(
      "{}, threads: {}; {} heads over {} key/value heads of {}, one layer\n"
      "case         kernel        milliseconds  spread  tokens/s    GB/s  of memory  times f32\n",
      cpu_name(), thread_count(), kDecodeHeads, kDecodeKvHeads, kDecodeHeadDim);
}

std::string decode_row(const DecodeTiming& timing) {
  return fmt::format(
      "{:<12} {:<13} {:>12.4f}  {:>5.1f}%  {:>8.0f}  {:>6.1f}  {:>8.0f}%  {:>9.2f}\n",
      timing.problem.name, timing.kernel, timing.seconds * 1e3, timing.spread * 100,
      timing.tokens_per_second, timing.gbytes_per_second,
      timing.gbytes_per_second / timing.read_gbytes_per_second * 100, timing.times_faster);
}

}  // namespace

int bench_decode(const BenchOptions& options) {
  const std::vector<DecodeBenchCase> cases = decode_bench_cases(options.cases);
  double read = 0;
  BenchTable table(options.json, names_of(cases), decode_heading());
  time_decode(cases, options.kernel, [&](const DecodeTiming& timing) {
    table.add(timing.problem.name, timing.spread, decode_row(timing), decode_json(timing));
    read = timing.read_gbytes_per_second;
  });
  table.finish(
      fmt::format("reading memory {:.1f} GB/s; times f32: how many times faster than with "
                  "contiguous f32 keys\n",
                  read));
  return 0;
}

}  // namespace heed::cli
