#include "cli/look/input.h"

#include "cli/options/arguments.h"
#include "cli/options/text_input.h"
#include "heed/base/error.h"
#include "inspect/session/shorten.h"

namespace heed::cli {

void add_look_input(CLI::App& app, LookInput& input) {
  app.add_option("TEXT", input.text, "the text to look at; - reads it from stdin");
  app.add_option("--file", input.file, "read the text from a file, or from stdin with -")
      ->type_name("FILE");
  app.add_option("--keep", input.keep,
                 "of a text of more tokens than the model has positions, only the first or last "
                 "ones, as many as it has")
      ->check(one_of({"first", "last"}));
  add_number(app, "--ids", input.ids, "token ids instead of a text (heed tokenize prints them)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("5,3,9");
}

std::string text_of(const LookInput& input, const LoadedModel& model) {
  const Keep part = input.keep.empty()      ? Keep::kAll
                    : input.keep == "first" ? Keep::kFirst
                                            : Keep::kLast;
  return shorten(model, given_text(input.text, input.file), part);
}

Session cut_text(const LoadedModel& model, const std::string& text) {
  Session cut = tokenize_session(model, text);
  check_length(cut, "--keep first or --keep last reads a part of it");
  return cut;
}

}  // namespace heed::cli
