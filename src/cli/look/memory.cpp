#include "cli/look/memory.h"

#include <cmath>

#include "base/wording.h"
#include "cli/terminal/output.h"
#include "inspect/session/places.h"
#include "inspect/session/session_memory.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

void tell_of_memory(std::string_view command, const Session& session, const SessionMemory& need,
                    bool streams, std::optional<std::int64_t> free) {
  const std::int64_t all = streams ? need.streamed() : need.whole();
  if (!is_much_memory(all, free)) return;
  tell("heed {}: a text of {} takes {}: weights {}, kept {}, the pass {}{}\n", command,
       number_of(session.tokens.size(), "token"), bytes_text(all),
       streams ? "streamed from the file" : bytes_text(need.weights), bytes_text(need.kept),
       bytes_text(need.pass), free ? "; free: " + bytes_text(*free) : "");
}

}  // namespace

bool is_much_memory(std::int64_t bytes, std::optional<std::int64_t> free) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  return bytes >= kMuch || (free && bytes > *free / 2);
}

void add_memory_options(OptionList& list, MemoryOptions& options) {
  add(list,
      {{"--keep-layers",
        [&options](const std::string& text) { options.keep.layers = read_layers(text); }, "8-12",
        "keep the attention of these layers alone, as 8-12 or 0,8-12; the others are run "
        "and not kept (default: all)"},
       {.name = "--keep",
        .to = [&options](const std::string& text) { options.keep.dtype = dtype_named(text); },
        .help = "keep queries, keys and values in this type; f16 takes half of the memory and "
                "changes weights a little, which is printed (default: f32)",
        .words = {"f32", "f16"}},
       {.name = "--stream",
        .to = &options.stream,
        .help = "leave weights in the file and read each matrix when it is needed (default: where "
                "they do not fit into memory)"},
       {"--memory", [&options](const std::string& text) { options.limit = read_bytes(text); }, "6G",
        "take at most this much memory, as 6G or 512M (default: what is free)"}});
}

void make_room(std::string_view command, const LoadedModel& model, const Session& session,
               SessionOptions session_options, const MemoryOptions& options) {
  session_options.memory = options.limit;
  require_memory(session, model, session_options);
  const std::optional<std::int64_t> free = memory_of(session_options);
  const SessionMemory need = session_memory(session, model, session_options);
  const bool streams = need.weights > 0 && (options.stream || (free && need.whole() > *free));
  tell_of_memory(command, session, need, streams, free);
  if (!streams) hold_weights(*model.model);
}

void tell_of_rounding(std::string_view command, const Session& session) {
  const double error = session.score_error();
  if (error == 0) return;
  tell(
      "heed {}: q, k and v are kept as f16: a score changes by at most {:.2g}, a weight by at most "
      "{:.2g} %\n",
      command, error, 100 * std::expm1(2 * error));
}

}  // namespace heed::cli
