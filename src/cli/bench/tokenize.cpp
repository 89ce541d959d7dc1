// heed bench tokenize: encoding and decoding texts on one thread.
#include <fmt/format.h>

#include <filesystem>

#include "base/formats/json.h"
#include "base/machine.h"
#include "bench/tokenize_bench.h"
#include "cli/bench/bench.h"
#include "cli/options/text_input.h"
#include "heed/error.h"
#include "heed/model.h"

namespace heed::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

Json as_json(const TokenizeTiming& timing) {
  JsonFields fields = {{{"case", timing.name}}};
  HEED_FIELDS(fields, timing.bytes, timing.tokens, timing.encode_seconds, timing.decode_seconds,
              timing.spread, timing.encode_megabytes_per_second,
              timing.decode_megabytes_per_second);
  return fields.json;
}

constexpr const char* kTokenizeColumns = "{:<24} {:>10} {:>10}  {:>12}  {:>6}  {:>12}\n";

std::string as_row(const TokenizeTiming& timing) {
  return fmt::format(kTokenizeColumns, timing.name, timing.bytes, timing.tokens,
                     fmt::format("{:.1f}", timing.encode_megabytes_per_second),
                     fmt::format("{:.1f}%", timing.spread * 100),
                     fmt::format("{:.1f}", timing.decode_megabytes_per_second));
}

}  // namespace

int bench_tokenize(const BenchOptions& options) {
  if (options.texts.empty()) fail({.argument = "--text", .expected = "a file to cut into tokens"});
  if (!options.model.empty() && !options.tokenizer.empty())
    fail({.found = "--model and --tokenizer are both given", .expected = "one of them"});
  const std::filesystem::path from = options.tokenizer.empty()
                                         ? find_model(options.model)
                                         : std::filesystem::path(options.tokenizer);
  const auto tokenizer = load_model_tokenizer(from);
  if (!tokenizer)
    fail({.code = ErrorCode::kNotFound,
          .file = from.string(),
          .found = "no tokenizer",
          .expected = "a folder or a file with one"});
  BenchTable table(options.json, options.texts,
                   fmt::format("{}, threads: 1\n", cpu_name()) +
                       fmt::format(kTokenizeColumns, "text", "bytes", "tokens", "encode MB/s",
                                   "spread", "decode MB/s"));
  for (const std::string& path : options.texts) {
    const TokenizeTiming timing = time_tokenizer(
        *tokenizer, std::filesystem::path(path).filename().string(), read_text(path, kMostBytes));
    table.add(timing.name, timing.spread, as_row(timing), as_json(timing));
  }
  table.finish(
      "each text as a whole, without special tokens; beside tiktoken and tokenizers: "
      "bench/peers/text_to_tokens.py\n");
  return 0;
}

}  // namespace heed::cli
