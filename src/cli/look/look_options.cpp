#include "cli/look/look_options.h"

#include <unistd.h>

#include <functional>
#include <iterator>

#include "base/numbers.h"
#include "cli/look/ranking.h"
#include "cli/look/view.h"
#include "cli/options/option.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "inspect/session/places.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kDefaultTop = 3;
constexpr const char* kFormats[] = {"text", "json", "tsv",     "npy", "svg",
                                    "png",  "html", "graphml", "dot"};

void check_view_options(const LookOptions& options) {
  if (options.view.empty()) return;
  if (options.layer || options.head || !options.who.empty() || !options.to.empty())
    fail({.found = "--layer, --head, --who and --to cannot be used with --view"});
  if (!options.stack.empty()) fail({.found = "--stack cannot be used with --view"});
  if (options.is_array() || !options.rows.empty())
    fail({.found = fmt::format("{} cannot be used with --view",
                               options.rows.empty() ? "--format npy" : "--rows")});
  if (!options.is_page() && !options.heads) check_form(read_view(options.view), options.format);
}

void check_formats(const LookOptions& options) {
  refuse_overwrite("-o", options.out, options.input.file);
  if (!options.to_stdout()) require_folder_of("-o", options.out);
  if (options.is_page() && !options.input.ids.empty())
    fail({.found = fmt::format("--format {} shows a text", options.format),
          .expected = "TEXT or --file, not --ids"});
  if ((options.format == "png" || options.is_array()) && options.to_stdout() &&
      isatty(STDOUT_FILENO) != 0)
    fail({.found = fmt::format("--format {} cannot be shown in a terminal", options.format),
          .expected = fmt::format("-o FILE.{} or a pipe", options.format)});
  if (options.is_array() && (!options.who.empty() || !options.to.empty()))
    fail({.found = fmt::format("{} cannot be used with --format npy, which writes all weights",
                               options.who.empty() ? "--to" : "--who")});
}

void check_heads_options(const LookOptions& options) {
  if (!options.heads) return;
  if (options.format != "text" && options.format != "json")
    fail({.found = fmt::format("--format {} cannot be used with --heads", options.format),
          .expected = "--format text or json"});
  if (!options.view.empty() || options.layer || options.head || !options.who.empty() ||
      !options.to.empty() || !options.rows.empty() || !options.top.empty())
    fail({.found = "--view, --layer, --head, --who, --to, --rows and --top cannot be used with "
                   "--heads"});
}

// Options that would have no effect.
void check_effects(const Given& given, const LookOptions& options) {
  const bool lists = !options.is_page() && !options.is_array() && !options.is_graph();
  given.require_beside({"--width", "--theme", "--panel"}, options.is_picture(),
                       "--format svg or png");
  given.require_beside({"--top", "--rows"}, lists, "--format text, json or tsv");
  given.require_beside({"--layer", "--head"}, options.what == "weights", "--what weights");
  given.require_beside({"--cut", "--pair", "--target", "--chat"}, options.input.ids.empty(),
                       "TEXT or --file");
  if (options.input.chat) given.refuse_beside({"--cut", "--pair", "--target"}, "--chat");
  given.require_beside({"--color"}, options.format == "text", "--format text");
  given.require_beside({"--what"}, options.is_array(), "--format npy");
  given.require_beside({"--units"}, options.format == "text", "--format text");
  if (!options.units.empty() && options.units != "token" && !options.to.empty())
    fail({.found = fmt::format("--units {} cannot be used with --to", options.units)});
  if (!options.who.empty()) given.refuse_beside({"--rows"}, "--who");
  if (!options.to.empty()) given.refuse_beside({"--rows"}, "--to");
  if (!options.who.empty() && !options.to.empty() && options.format != "json")
    given.refuse_beside({"--top"}, "--who and --to");
}

void check_flow(const Given& given, const LookOptions& options) {
  given.require_beside({"--by"}, options.flow, "--flow");
  if (options.is_graph() && !options.flow)
    fail({.found = fmt::format("--format {} needs --flow", options.format)});
  if (!options.flow) return;
  given.refuse_beside(
      {"--layer", "--head", "--heads", "--to", "--view", "--rows", "--what", "--keep-layers"},
      "--flow, which shows all layers");
  if (options.is_page() || options.is_array() || options.format == "tsv")
    fail({.argument = "--format",
          .found = options.format,
          .expected = "text, json, graphml or dot with --flow"});
}

constexpr const char* kHeadForms = "a whole number, or a layer and a head as in L1.H3";

// 3, or L1.H3
void read_head(const std::string& text, LookOptions& options) {
  const std::size_t mark = text.starts_with('L') ? text.find(".H") : std::string::npos;
  const std::string head = mark == std::string::npos ? text : text.substr(mark + 2);
  int number = 0;
  int layer = 0;
  const bool has_layer = mark != std::string::npos;
  if (!read_number(head, number) || (has_layer && !read_number(text.substr(1, mark - 1), layer)))
    fail({.argument = "--head", .found = fmt::format("\"{}\"", text), .expected = kHeadForms});
  options.head = number;
  options.layer_of_head = has_layer ? std::optional(layer) : std::nullopt;
}

void add_place(OptionList& list, LookOptions& options) {
  add(list,
      {{.name = "--stack",
        .to = &options.stack,
        .help = "the attention to show; an encoder-decoder has encoder, decoder and cross (from "
                "the words it writes to the words it reads) (default: cross with --target, "
                "else the model's first)",
        .words = {"self", "encoder", "decoder", "cross"}},
       {"--layer", &options.layer, "L",
        "this layer, counted from 0 (default: heed chooses and says why)"},
       {.name = "--head",
        .to = std::function<void(const std::string&)>(
            [&options](const std::string& text) { read_head(text, options); }),
        .type = "H",
        .help = "this head, counted from 0, or with its layer, as in L1.H3 (default: heed chooses "
                "and says why)",
        .expects = kHeadForms},
       {"--who", &options.who, "WORD",
        "only the rows of this word: a token, a word of several tokens (its last token "
        "counts), or an index"},
       {"--to", &options.to, "WORD",
        "with --who: the weight on this word, its rank, score and lse; without: who attends to "
        "this word"},
       {"--view", &options.view, "look/L2.H4/i=17/j=3",
        "the address of a view (layer, heads, query i, key j; without a head, as in grid, "
        "heed chooses it): the part of the page's address after #, or the whole address"},
       {"--top", &options.top, "N|all",
        "keys shown of each row, or queries of --to, the largest first (default: 3; tsv: all)"},
       {"--rows", &options.rows, "N|all",
        "show N rows, the last or near heed's row (default: 64 as text, else all)"}});
}

void add_questions(OptionList& list, LookOptions& options) {
  add(list,
      {{.name = "--why",
        .to = &options.why,
        .help = "why the weight of --who and --to is what it is, and the text without it"},
       {.name = "--units",
        .to = &options.units,
        .help = "what rows and keys are; weights are summed over the keys of a unit and averaged "
                "over its rows (default: token; character if most tokens are single bytes)",
        .words = {"token", "character", "word", "sentence"}},
       {.name = "--flow",
        .to = &options.flow,
        .help = "the information that flows into the word of --who (default: the last token) "
                "through all layers, and how far to trust it; json, graphml and dot: the graph"},
       {.name = "--by",
        .to = &options.by,
        .help = "weigh the flow by attention (rollout, the default), or by the change when each "
                "edge is removed",
        .words = {"rollout", "effect"}},
       {.name = "--heads",
        .to = &options.heads,
        .type = "FILTER|all",
        .help = "all heads that pass the filter, ranked by its first score, as in "
                "\"induction>0.4 sink<0.5 layer 4-8\"; all: every head; text or json",
        .expects = filter_forms()}});
}

void check_why(const Given& given, const LookOptions& options) {
  if (!options.why) return;
  if (options.who.empty() || options.to.empty()) fail({.found = "--why needs --who and --to"});
  given.refuse_beside({"--flow", "--heads", "--view", "--top", "--what"},
                      "--why, which explains one weight");
  if (options.format != "text" && options.format != "json")
    fail({.argument = "--format", .found = options.format, .expected = "text or json with --why"});
}

void add_output(OptionList& list, LookOptions& options) {
  add(list,
      {{.name = "--format",
        .to = &options.format,
        .help = "text; json; tsv: one line per weight; npy: all weights, f32 [layers, "
                "heads, T, T], with an extent of 1 where --layer or --head chooses; svg, png: the "
                "page's picture, drawn by chromium; html: the page as one file; graphml, dot: the "
                "graph of --flow (default: as the name of -o ends, else text)",
        .words = {std::begin(kFormats), std::end(kFormats)}},
       json_option(options.json),
       {.name = "--what",
        .to = &options.what,
        .help = "with --format npy: weights (default), logits [T, vocabulary], hidden [T, width]",
        .words = {"weights", "logits", "hidden"}},
       {"-o,--out", &options.out, "FILE", "write to this file; it appears complete or not at all"},
       {.name = "--color",
        .to = &options.colour,
        .help = "auto (a terminal, NO_COLOR not set), always, never",
        .words = {"auto", "always", "never"}},
       {.name = "--width",
        .to = &options.width,
        .type = "N",
        .help = "width of svg and png, in pixels",
        .least = 320,
        .most = 8192,
        .shows_default = true},
       {.name = "--theme",
        .to = &options.theme,
        .help = "colours of svg and png",
        .words = {"light", "dark"},
        .shows_default = true},
       {"--panel", &options.panel, "NAME",
        "svg and png: only one part of the view: matrix, text, who-attends-to-whom, "
        "next-word, lens, ...; an unknown name lists them"}});
}

}  // namespace

void add_look_options(OptionList& list, LookOptions& options) {
  add_look_input(list, options.input);
  add_place(list, options);
  add_questions(list, options);
  add_output(list, options);
}

StackShape LookOptions::stack_of(const std::string& model_name, const ModelInfo& info) const {
  const bool crosses = input.target && info.reads_source();
  const Stack usual = crosses ? Stack::kCross : info.stacks.front().stack;
  return find_stack("look", model_name, info.stacks, heed::stack_of(stack).value_or(usual));
}

std::string chosen_format(const LookOptions& options) {
  return format_of(options.format, options.out, kFormats);
}

void check(const Given& given, const LookOptions& options) {
  const int inputs = (options.text_given ? 1 : 0) + (options.input.file.empty() ? 0 : 1) +
                     (options.input.ids.empty() ? 0 : 1);
  if (inputs != 1)
    fail({.found = inputs == 0 ? "no text is given" : "several texts are given",
          .expected = "one of TEXT, --file and --ids"});
  if (options.layer_of_head && options.layer != options.layer_of_head)
    fail({.found = fmt::format("--layer {} and --head L{}.H{} contradict each other",
                               options.layer.value_or(0), *options.layer_of_head,
                               options.head.value_or(0)),
          .expected = "one of them"});
  check_why(given, options);
  check_flow(given, options);
  check_effects(given, options);
  check_view_options(options);
  check_heads_options(options);
  check_formats(options);
}

std::int64_t count_of(const char* option, const std::string& text) {
  if (text == "all") return -1;
  std::int64_t count = 0;
  if (!read_number(text, count) || count < 1)
    fail({.argument = option,
          .found = fmt::format("\"{}\"", text),
          .expected = "1 or more, or all"});
  return count;
}

// Text and JSON show the rest of a row; TSV has no field for it.
std::int64_t top_of(const LookOptions& options) {
  if (!options.top.empty()) return count_of("--top", options.top);
  return options.format == "tsv" ? -1 : kDefaultTop;
}

}  // namespace heed::cli
