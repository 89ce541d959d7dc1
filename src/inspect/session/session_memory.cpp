#include "inspect/session/session_memory.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <vector>

#include "base/machine.h"
#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "inspect/session/recorder.h"
#include "ops/packed_matrix.h"
#include "tensor/memory.h"

namespace heed {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::int64_t attention_bytes(const Session& session, const StackShape& shape,
                             const KeptAttention& keep) {
  const auto number = static_cast<std::int64_t>(size_bytes(keep.dtype));
  const auto [queries, keys] = session.size(shape.stack);
  std::int64_t bytes = 0;
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (!shape.has(layer) || !keep.has(layer)) continue;
    const LayerKeys own = shape.keys_of(layer);
    // q; lse, lse_low, received, effective keys
    const std::int64_t of_query = shape.heads * (own.head_dim * number + 4 * kFloat);
    // k, v; write_lengths
    const std::int64_t of_key =
        2 * own.kv_heads * std::int64_t{own.head_dim} * number + shape.heads * kFloat;
    bytes += queries * of_query + keys * of_key;
  }
  return bytes;
}

// The sizes of the linear layers: the widest output for one token (without the word head), and the
// matrices that stay in the file.
struct Widths {
  std::int64_t widest = 0;
  std::int64_t streamed = 0;          // bytes of all matrices that stay in the file
  std::int64_t largest_streamed = 0;  // bytes of the largest of them
};

Widths widths_of(const Model& model) {
  Widths widths;
  for (const Parameter* parameter : model.parameters()) {
    if (!parameter->linear) continue;
    const PackedMatrix* const packed = parameter->packed.get();
    const std::int64_t out = packed != nullptr                           ? packed->columns()
                             : parameter->linear == WeightLayout::kInOut ? parameter->value.dim(1)
                                                                         : parameter->value.dim(0);
    if (out != model.info().vocabulary) widths.widest = std::max(widths.widest, out);
    if (!parameter->is_streamed()) continue;
    widths.streamed += packed->packed_bytes();
    widths.largest_streamed = std::max(widths.largest_streamed, packed->packed_bytes());
  }
  return widths;
}

// The activations of a layer at their peak: the residual stream, a normed copy and the branch's
// output; beside them three of the widest rows (gate, up and their product), or queries, keys and
// values twice (before and after rotation) with the heads' output.
std::int64_t floats_of_token(const Session& session, const Widths& widths) {
  std::int64_t of_attention = 0;
  for (const StackShape& shape : session.shapes())
    of_attention = std::max<std::int64_t>(of_attention,
                                          shape.head_dim * (3 * shape.heads + 4 * shape.kv_heads));
  return 4 * session.info.width + std::max(3 * widths.widest, of_attention);
}

}  // namespace

std::int64_t kept_bytes(const Session& session, const KeptAttention& keep,
                        const SessionOptions& options) {
  const ModelInfo& info = session.info;
  const std::int64_t tokens = std::ssize(session.tokens);
  std::int64_t bytes = 0;
  for (const StackShape& shape : session.shapes()) bytes += attention_bytes(session, shape, keep);
  if (options.streams && info.has_logits)
    bytes +=
        kFloat * tokens * info.width * (info.layers * (keeps_middle(info, tokens) ? 2 : 1) + 1);
  if (options.hidden) bytes += kFloat * tokens * info.width;
  if (options.all_logits && info.has_logits) bytes += kFloat * tokens * info.vocabulary;
  return bytes;
}

SessionMemory session_memory(const Session& session, const LoadedModel& model,
                             const SessionOptions& options) {
  const Widths widths = widths_of(*model.model);
  const std::int64_t tokens = std::ssize(session.tokens) + std::ssize(session.key_tokens);
  // A streamed matrix is read, perhaps converted, and packed.
  const std::int64_t fixed = kFloat * session.info.vocabulary + 2 * widths.largest_streamed;
  return {.weights = widths.streamed,
          .kept = kept_bytes(session, session.keep, options),
          .pass = fixed + kFloat * tokens * floats_of_token(session, widths),
          .fixed = fixed};
}

std::optional<std::int64_t> memory_of(const SessionOptions& options) {
  return options.memory ? options.memory : memory_free();
}

namespace {

// Returns how many of the first layers fit.
std::int64_t fitting_layers(const Session& session, const SessionOptions& options,
                            std::int64_t room) {
  KeptAttention keep = {.layers = std::vector<int>(), .dtype = session.keep.dtype};
  while (std::ssize(*keep.layers) < session.info.layers) {
    keep.layers->push_back(static_cast<int>(keep.layers->size()));
    if (kept_bytes(session, keep, options) > room) return std::ssize(*keep.layers) - 1;
  }
  return session.info.layers;
}

// Lists each change of options that would be sufficient alone.
std::string what_fits(const Session& session, const SessionMemory& need,
                      const SessionOptions& options, std::int64_t free) {
  std::vector<std::string> ways;
  const KeptAttention halves = {session.keep.layers, DType::kF16};
  if (session.keep.dtype == DType::kF32 && kept_bytes(session, halves, options) + need.pass <= free)
    ways.emplace_back("q, k and v kept as f16");
  if (const std::int64_t layers = fitting_layers(session, options, free - need.pass); layers > 0)
    ways.push_back(number_of(layers, "layer") + " kept");
  const double share =
      static_cast<double>(free - need.fixed) / static_cast<double>(need.streamed() - need.fixed);
  const auto tokens =
      static_cast<std::int64_t>(share * static_cast<double>(std::ssize(session.tokens)));
  if (tokens > 0) ways.push_back(fmt::format("a text of {}", number_of(tokens, "token")));
  return ways.empty() ? "" : fmt::format("what would fit: {}", joined(ways, "; or "));
}

}  // namespace

void require_memory(const Session& session, const LoadedModel& model,
                    const SessionOptions& options) {
  const std::optional<std::int64_t> free = memory_of(options);
  if (!free) return;
  const SessionMemory need = session_memory(session, model, options);
  if (need.streamed() <= *free) return;
  throw TooLittleMemory({.code = ErrorCode::kFailed,
                         .op = "session",
                         .argument = "memory",
                         .found = fmt::format("{}", bytes_text(*free)),
                         .expected = fmt::format("at least {} for {}: {} kept and {} for the pass",
                                                 bytes_text(need.streamed()),
                                                 number_of(session.tokens.size(), "token"),
                                                 bytes_text(need.kept), bytes_text(need.pass)),
                         .hint = what_fits(session, need, options, *free)});
}

bool hold_if_room(Model& model, std::optional<std::int64_t> memory) {
  const std::int64_t streamed = widths_of(model).streamed;
  const std::optional<std::int64_t> free = memory ? memory : memory_free();
  if (free && streamed > *free / 4 * 3) return false;
  hold_weights(model);
  return true;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  const double mebibytes = static_cast<double>(bytes) / kMiB;
  return mebibytes < 1000 ? fmt::format("{:.3g} MiB", mebibytes)
                          : fmt::format("{:.3g} GiB", mebibytes / 1024);
}

std::int64_t read_bytes(std::string_view text) {
  const std::string_view number = text.substr(0, text.empty() ? 0 : text.size() - 1);
  const char unit = text.empty() ? ' ' : text.back();
  const double bytes = unit == 'G' ? 1 << 30 : unit == 'M' ? 1 << 20 : 0;
  double count = 0;
  if (bytes == 0 || !read_number(number, count) || !(count > 0) || count * bytes > 1e18)
    fail("session", "memory", fmt::format("\"{}\"", clipped(text, 32)), "a size as 6G or 512M");
  return static_cast<std::int64_t>(count * bytes);
}

void return_memory() {
  free_kept_blocks();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void share_memory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // malloc_trim returns the end of the main arena
#endif
}

}  // namespace heed
