// heed look: who attends to whom in a text.
#include "heed/inspect/look.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/command.h"
#include "cli/look/file.h"
#include "cli/look/files.h"
#include "cli/look/input.h"
#include "cli/look/text.h"
#include "cli/options/numbers.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/base/error.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kDefaultRows = 64;
constexpr std::int64_t kDefaultTop = 3;
constexpr const char* kFormats[] = {"text", "json", "tsv", "npy", "svg", "png", "html"};

struct Options {
  LookInput input;
  bool text_given = false;
  std::string model;
  std::optional<int> layer, head;
  std::string who, to;
  std::string view;
  std::string top;
  std::string rows;
  std::string what = "weights";
  std::string format;  // empty: as the name of the file says, else text
  std::string colour = "auto";
  std::string out;
  std::string dtype = "f32";
  int width = 1440;
  std::string theme = "light";

  bool to_stdout() const { return out.empty() || out == "-"; }
  bool is_picture() const { return format == "svg" || format == "png"; }
  bool is_array() const { return format == "npy"; }
  bool is_page() const { return format == "svg" || format == "png" || format == "html"; }
};

// What the ending of a file's name says: empty where it says nothing.
std::string format_of_name(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  for (const char* format : kFormats)
    if (ending == std::string(".") + format) return format;
  return ending == ".txt" ? "text" : "";
}

// The format that --format and the ending of the file's name agree on.
std::string chosen_format(const Options& options) {
  const std::string named = format_of_name(options.out);
  if (options.format.empty()) return named.empty() ? "text" : named;
  require(named.empty() || named == options.format,
          "--format {} and -o {} say two formats, expected them to agree", options.format,
          options.out);
  return options.format;
}

// A count, or -1 for "all".
std::int64_t count_of(const char* option, const std::string& text) {
  if (text == "all") return -1;
  std::int64_t count = 0;
  if (!read_number(text, count) || count < 1)
    fail(ErrorCode::kInvalidArgument, "{}: found \"{}\", expected a number from 1 or all", option,
         text);
  return count;
}

// Text and JSON say how much is left over of a row; TSV has no place for it.
std::int64_t top_of(const Options& options) {
  if (!options.top.empty()) return count_of("--top", options.top);
  return options.format == "tsv" ? -1 : kDefaultTop;
}

void check_view_options(const Options& options) {
  const bool others = options.layer || options.head || !options.who.empty() || !options.to.empty();
  require(
      options.view.empty() || !others,
      "--view names layer, head and tokens: expected it without --layer, --head, --who and --to");
  require(options.view.empty() || (options.format != "npy" && options.rows.empty()),
          "--view names the rows: expected it without {}",
          options.rows.empty() ? "--format npy" : "--rows");
  require(!options.is_page() || options.input.ids.empty(),
          "--format {} shows a text, expected TEXT or --file, not --ids", options.format);
  require(options.format != "png" || !options.to_stdout() || isatty(STDOUT_FILENO) == 0,
          "--format png cannot be shown in a terminal, expected -o FILE.png or a pipe");
}

// Options that would change nothing.
void check_effects(const Given& given, const Options& options) {
  const bool lists = !options.is_page() && !options.is_array();
  for (const char* option : {"--width", "--theme"})
    given.require_beside(option, options.is_picture(), "--format svg or png");
  for (const char* option : {"--top", "--rows"})
    given.require_beside(option, lists, "--format text, json or tsv");
  for (const char* option : {"--layer", "--head"})
    given.require_beside(option, options.what == "weights", "--what weights");
  given.require_beside("--cut", options.input.ids.empty(), "TEXT or --file");
  given.require_beside("--color", options.format == "text", "--format text");
  given.require_beside("--what", options.is_array(), "--format npy");
  require(options.rows.empty() || options.who.empty(),
          "--who names the rows: expected it without --rows");
  require(options.top.empty() || options.to.empty() || options.format == "json",
          "--to names the key: expected it without --top");
}

void check(const Given& given, const Options& options) {
  const int inputs = (options.text_given ? 1 : 0) + (options.input.file.empty() ? 0 : 1) +
                     (options.input.ids.empty() ? 0 : 1);
  require(inputs == 1, "expected one of TEXT, --file and --ids, found {}",
          inputs == 0 ? "none" : "several");
  check_effects(given, options);
  check_view_options(options);
  require(options.format != "npy" || !options.to_stdout() || isatty(STDOUT_FILENO) == 0,
          "--format npy cannot be shown in a terminal, expected -o FILE.npy or a pipe");
  require(options.format != "npy" || options.who.empty(),
          "--who chooses rows, --format npy writes all of them: expected one of the two");
}

Session open(const Options& options, const LoadedModel& model, ProgressLine& progress) {
  const SessionOptions keep = {.all_logits = options.what == "logits",
                               .hidden = options.what == "hidden",
                               .layer_done = [&progress] { progress.advance(); }};
  progress.begin("the model: layers", model.model->info().layers);
  if (!options.input.ids.empty()) return open_session(model, options.input.ids, keep);
  Session session = cut_text(model, text_of(options.input, model));
  run_session(session, model, keep);
  return session;
}

void write_npy_output(const Options& options, const Session& session) {
  Output output(options.out);
  if (options.what == "weights") {
    write_weights_npy(output, session, options.layer, options.head);
    return;
  }
  const Tensor& array = options.what == "logits" ? session.logits : session.hidden;
  require(array.given(), "--what {}: {} has none", options.what, session.model);
  write_array_npy(output, array);
}

// The first head of the view, its rows and its cell: what a terminal can show of it.
LookRequest request_of_view(const Options& options, const Session& session) {
  const ViewAddress view = parse_view(options.view);
  check_view(view, session.model, session.shapes(), std::ssize(session.tokens));
  require(
      !view.to,
      "--view: \"to=1\" is shown by --format svg, png and html, found {}: expected one of them, "
      "or an address without it",
      options.format);
  const bool one_cell = view.key && !view.range;
  require(!one_cell || options.top.empty() || options.format == "json",
          "--view: j= names the key: expected it without --top");
  const Place place = place_of(view.places.front(), session.shapes());
  LookRequest request{.layer = place.layer, .head = place.head};
  request.top = top_of(options);
  const auto rows = view.range.value_or(std::pair(view.query.value_or(0), view.query.value_or(-1)));
  for (std::int64_t row = rows.first; row <= rows.second; ++row) request.queries.push_back(row);
  if (one_cell) request.cell_keys.push_back(*view.key);
  return request;
}

LookRequest request_of(const Options& options, const Session& session) {
  if (!options.view.empty()) return request_of_view(options, session);
  LookRequest request{.layer = options.layer, .head = options.head};
  request.top = top_of(options);
  if (!options.who.empty()) request.queries = find_word(session.tokens, options.who);
  if (!options.to.empty()) request.cell_keys = find_word(session.tokens, options.to);
  return request;
}

// Long texts: the last rows, unless the user says how many.
std::int64_t choose_rows(const Options& options, const Session& session, LookRequest& request) {
  const auto length = static_cast<std::int64_t>(session.tokens.size());
  std::int64_t rows = options.format == "text" ? kDefaultRows : -1;
  if (!options.rows.empty()) rows = count_of("--rows", options.rows);
  if (!request.queries.empty() || rows < 0 || rows >= length) return 0;
  for (std::int64_t row = length - rows; row < length; ++row) request.queries.push_back(row);
  return length - rows;
}

int write_page_file(const Options& options, const LoadedModel& model) {
  Output output(options.out);  // a folder that is missing is said before the work
  output.write(look_file(
      model, {.format = options.format,
              .text = text_of(options.input, model),
              .view = {options.view, options.layer, options.head, options.who, options.to},
              .width = options.width,
              .dark = options.theme == "dark"}));
  output.finish();
  return 0;
}

// `hidden_rows`: how many rows of a text are not shown.
void write_answer(const Options& options, const Look& answer, std::int64_t top,
                  std::int64_t hidden_rows) {
  Output output(options.out);
  if (options.format == "json") return write_json(output, answer);
  if (options.format == "tsv") return write_tsv(output, answer);
  const bool plain = options.colour == "auto" && !options.to_stdout();
  const Terminal terminal = detect_terminal(plain ? "never" : options.colour);
  const LookTextOptions shown = {top, hidden_rows, options.who, options.to};
  output.write(answer.cells.empty() ? look_text(terminal, answer, shown)
                                    : cells_text(terminal, answer, shown));
  output.finish();
}

int run(const Given& given, const Options& options) {
  check(given, options);
  const LoadedModel model = load_model(find_model(options.model));
  const StackShape stack = stacks_of(model.model->info()).front();
  if (options.layer) check_layer("look", model.name, stack, *options.layer);
  if (options.head) check_head("look", model.name, stack, *options.head);
  if (options.is_page()) return write_page_file(options, model);
  ProgressLine progress;
  const Session session = open(options, model, progress);
  if (options.format == "npy") {
    progress.begin("writing");
    write_npy_output(options, session);
    return 0;
  }
  LookRequest request = request_of(options, session);
  const std::int64_t hidden_rows = choose_rows(options, session, request);
  progress.begin("the heads: layers", model.model->info().layers);
  request.layer_scored = [&progress] { progress.advance(); };
  const Look answer = look(session, request);
  progress.begin("");  // the answer goes to the terminal
  write_answer(options, answer, request.top, hidden_rows);
  return 0;
}

void add_choice(OptionList& list, Options& options) {
  add(list,
      {{.name = "--layer",
        .to = &options.layer,
        .type = "L",
        .help = "this layer, counted from 0 (default: heed chooses and says why)"},
       {.name = "--head",
        .to = &options.head,
        .type = "H",
        .help = "this head, counted from 0 (default: heed chooses and says why)"},
       {.name = "--who",
        .to = &options.who,
        .type = "WORD",
        .help = "only the rows of this word: a token, a word of several tokens (its last one "
                "counts), or an index"},
       {.name = "--to",
        .to = &options.to,
        .type = "WORD",
        .needs = "--who",
        .help = "the weight on this word, its rank, score and lse"},
       {.name = "--view",
        .to = &options.view,
        .type = "look/L2.H4/i=17/j=3",
        .help = "the address of a view, as the page shows it behind #: layer, heads, query i, "
                "key j"},
       {.name = "--top",
        .to = &options.top,
        .type = "N|all",
        .help = "keys shown of each row, the largest first (default: 3; tsv: all)"},
       {.name = "--rows",
        .to = &options.rows,
        .type = "N|all",
        .help = "show the last N rows (default: 64 as text, else all)"}});
}

void add_format(OptionList& list, Options& options) {
  add(list,
      {{.name = "--format",
        .to = &options.format,
        .words = {std::begin(kFormats), std::end(kFormats)},
        .help = "text; json; tsv: one line a weight; npy: all weights, f32 [layers, "
                "heads, T, T], with an extent of 1 where --layer or --head chooses; svg, png: the "
                "page's picture, drawn by chromium; html: the page as one file (default: as the "
                "name behind -o ends, else text)"},
       {.name = "--width",
        .to = &options.width,
        .type = "N",
        .least = 320,
        .most = 8192,
        .shows_default = true,
        .help = "of svg and png, in pixels"},
       {.name = "--theme",
        .to = &options.theme,
        .words = {"light", "dark"},
        .shows_default = true,
        .help = "of svg and png"},
       {.name = "--what",
        .to = &options.what,
        .words = {"weights", "logits", "hidden"},
        .help = "with --format npy: weights (default), logits [T, vocabulary], hidden [T, width]"},
       {.name = "-o,--out",
        .to = &options.out,
        .type = "FILE",
        .help = "write to a file, which appears whole or not at all"},
       {.name = "--color",
        .to = &options.colour,
        .words = {"auto", "always", "never"},
        .help = "auto (a terminal, NO_COLOR not set), always, never"}});
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add_look_input(list, options->input);
  add(list, {model_option(options->model)});
  add_choice(list, *options);
  add_format(list, *options);
  add(list, {threads_option(),
             kernel_option(),
             {.name = "--dtype",
              .to = &options->dtype,
              .words = {"f32"},
              .help = "compute in this type: f32"}});
  return [options](const Given& given) {
    options->text_given = given.has("TEXT");
    options->format = chosen_format(*options);
    return run(given, *options);
  };
}

}  // namespace

Command look_command() {
  return {"look", "who attends to whom in a text, what each head does, the next word",
          "  heed look \"The cat sat on the mat because it was tired.\"\n"
          "  heed look \"The king had a daughter, and he\" --layer 3 --head 1 --who he --to king\n"
          "  heed look --file story.txt -o weights.npy\n"
          "  heed look --file story.txt --view look/L2.H4/i=17/j=3 -o view.svg\n"
          "  heed look --file story.txt -o story.html",
          declare};
}

}  // namespace heed::cli
