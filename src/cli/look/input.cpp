#include "cli/look/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/wording.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/tokenizer.h"
#include "inspect/session/places.h"
#include "inspect/session/session_input.h"
#include "inspect/session/session_memory.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

// The tokens of the text `which`, without those added by the tokenizer.
Encoding tokens_of_text(std::span<const SessionToken> tokens, int which) {
  Encoding encoding;
  for (const SessionToken& token : tokens) {
    if (token.begin == token.end || token.text != which) continue;
    encoding.ids.push_back(token.id);
    encoding.spans.push_back({token.begin, token.end});
  }
  return encoding;
}

// The number of tokens of a pair's text `which`, without those added by the tokenizer.
std::int64_t tokens_of(const Session& session, int which) {
  return std::ranges::count_if(session.tokens, [&](const SessionToken& token) {
    return token.text == which && token.begin < token.end;
  });
}

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

void add_look_input(OptionList& list, LookInput& input) {
  add(list,
      {{.name = "TEXT", .to = &input.text, .help = "the text to look at; - reads it from stdin"},
       {"--file", &input.file, "FILE", "read the text from a file, or from stdin with -"},
       {.name = "--pair",
        .to = &input.pair,
        .help = "a second text, which an encoder reads together with TEXT or --file"},
       {.name = "--target",
        .to = &input.target,
        .help = "the text that an encoder-decoder is made to write (default: what it writes by "
                "itself)"},
       {.name = "--chat",
        .to = &input.chat,
        .help = "the text is a user's message: look at the chat that the model's template makes "
                "of it"},
       {.name = "--cut",
        .to = &input.cut,
        .help = "read only the first or the last tokens of a text that is longer than the "
                "model's positions",
        .words = {"first", "last"}},
       {"--ids", &input.ids, "5,3,9", kIdsHelp}});
}

void read_standard_input(LookInput& input) {
  const auto waits = [](const auto& text) { return text == "-" ? 1 : 0; };
  if (waits(input.text) + waits(input.file) + waits(input.pair) + waits(input.target) > 1)
    fail({.found = "several texts come from stdin", .expected = "one of them"});
  for (auto* text : {&input.pair, &input.target})
    if (*text == "-") *text = read_text("-");
}

ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target,
                          std::string_view stack) {
  if (has_pair && has_target)
    fail({.found = "--pair and --target are both given",
          .expected = "a pair for an encoder, or a target for an encoder-decoder"});
  const bool is_translators = stack == "cross" || stack == "decoder" || stack == "encoder";
  return heed::kind_that_reads(text, has_pair, has_target || is_translators);
}

std::string text_of(const LookInput& input, const LoadedModel& model) {
  const Keep part = input.cut.empty()      ? Keep::kAll
                    : input.cut == "first" ? Keep::kFirst
                                           : Keep::kLast;
  return shorten(model, given_text(input.text, input.file), part, input.pair);
}

void check_texts(const SessionTexts& texts, const Session& session) {
  reworded([&] { check_length(session); },
           [&](ErrorParts& parts) {
             if (!texts.pair || parts.argument.text() != "input") return;
             const std::int64_t first = tokens_of(session, 0), second = tokens_of(session, 1);
             const std::int64_t most = session.info.positions;
             const std::int64_t added = std::ssize(session.tokens) - first - second;
             const bool fills_all = second + added >= most;  // no token of the first text fits
             if (fills_all) parts.argument = "pair";
             parts.found = number_of(fills_all ? second : first, "token");
             parts.expected = fmt::format(
                 "at most {} beside {} of the other text and {} that the "
                 "tokenizer adds ({}'s positions are {})",
                 most - added - (fills_all ? 1 : second), fills_all ? 1 : second, added,
                 session.model, most);
           });
}

void tell_of_lost_texts(std::string_view command, const LoadedModel& model,
                        const SessionTexts& texts, const Session& session) {
  const bool reads_source = session.info.reads_source();
  const auto& read = reads_source ? session.key_tokens : session.tokens;
  tell_of_lost_text(command, "text", *model.tokenizer, texts.text, tokens_of_text(read, 0));
  if (texts.pair)
    tell_of_lost_text(command, "second text", *model.tokenizer, *texts.pair,
                      tokens_of_text(read, 1));
  if (texts.target)
    tell_of_lost_text(command, "target", *model.writing_tokenizer(), *texts.target,
                      tokens_of_text(session.tokens, 0));
}

Session cut_text(const LoadedModel& model, const SessionTexts& texts) {
  const auto cut = [&] {
    Session session = tokenize_session(model, texts);
    check_texts(texts, session);
    return session;
  };
  Session session = reworded(cut, [](ErrorParts& parts) {
    const std::string& text = parts.argument.text();
    if (parts.expected.text() == "at least one word")
      parts.hint = "for example: heed look \"The king had a daughter, and he loved her.\"";
    if (text == "input") parts.hint = "--cut first or --cut last reads a part of it";
    const bool is_long = parts.found.text().ends_with(" tokens");
    if ((text == "pair" || text == "target") && is_long)
      parts.hint = "--cut cuts the first text alone";
  });
  tell_of_lost_texts("look", model, texts, session);
  return session;
}

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
