#include "cli/look/input.h"

#include "cli/options/text_input.h"
#include "inspect/session/shorten.h"

namespace heed::cli {

void add_look_input(OptionList& list, LookInput& input) {
  add(list,
      {{.name = "TEXT", .to = &input.text, .help = "the text to look at; - reads it from stdin"},
       {.name = "--file",
        .to = &input.file,
        .type = "FILE",
        .help = "read the text from a file, or from stdin with -"},
       {.name = "--pair",
        .to = &input.pair,
        .help = "a second text, which an encoder reads beside the first"},
       {.name = "--target",
        .to = &input.target,
        .help = "what an encoder-decoder writes about the text (default: what it writes by "
                "itself)"},
       {.name = "--cut",
        .to = &input.cut,
        .words = {"first", "last"},
        .help = "of a text with more tokens than the model has positions, read only the "
                "first or the last ones"},
       {.name = "--ids",
        .to = &input.ids,
        .type = "5,3,9",
        .help = "token ids instead of a text (heed tokenize prints them)"}});
}

std::optional<std::string> pair_of(const LookInput& input) {
  return input.has_pair ? std::optional(input.pair) : std::nullopt;
}

std::optional<std::string> target_of(const LookInput& input) {
  return input.has_target ? std::optional(input.target) : std::nullopt;
}

std::string text_of(const LookInput& input, const LoadedModel& model) {
  const Keep part = input.cut.empty()      ? Keep::kAll
                    : input.cut == "first" ? Keep::kFirst
                                           : Keep::kLast;
  return shorten(model, given_text(input.text, input.file), part);
}

Session cut_text(const LoadedModel& model, const SessionTexts& texts) {
  Session cut = tokenize_session(model, texts);
  check_length(cut, "--cut first or --cut last reads a part of it");
  return cut;
}

}  // namespace heed::cli
