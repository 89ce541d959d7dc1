// heed look: attention between the tokens of a text.
#include "heed/look.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/look/files.h"
#include "cli/look/input.h"
#include "cli/look/look_options.h"
#include "cli/look/ranking.h"
#include "cli/look/text.h"
#include "cli/look/view.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "inspect/rows/words.h"
#include "inspect/session/places.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

std::int64_t layers_of(const ModelInfo& info) {
  std::int64_t layers = 0;
  for (const StackShape& stack : info.stacks) layers += stack.attention_layers();
  return layers;
}

Session tokenized(const LookOptions& options, const LoadedModel& model) {
  if (!options.input.ids.empty()) return tokenize_session(model, options.input.ids);
  const std::string text = text_of(options.input, model);
  return cut_text(model, {.text = text,
                          .pair = options.input.pair,
                          .target = options.input.target,
                          .chat = options.input.chat_text});
}

Session open(const LookOptions& options, const LoadedModel& model, ProgressLine& progress) {
  SessionOptions keep = {.all_logits = options.what == "logits",
                         .hidden = options.what == "hidden",
                         .streams = options.why,
                         .layer_done = [&progress] { progress.advance(); }};
  Session session = tokenized(options, model);
  session.keep = options.memory.keep;
  keep.all_logits |= options.input.ids.empty() && !mask_places(session).empty();
  make_room("look", model, session, keep, options.memory);
  keep.memory = options.memory.limit;
  progress.begin("the model: layers", layers_of(model.model->info()));
  run_session(session, model, keep);
  tell_of_rounding("look", session);
  return session;
}

void write_npy_output(const LookOptions& options, const Session& session, Stack stack) {
  Output output(options.out);
  if (options.what == "weights") {
    write_weights_npy(output, session, stack, options.layer, options.head);
    return;
  }
  const Tensor& array = options.what == "logits" ? session.logits : session.hidden;
  if (!array.given())
    fail({.argument = "--what",
          .found = options.what,
          .expected = fmt::format("another array: {} has no {}", session.model, options.what)});
  write_array_npy(output, array);
}

int write_page_file(const LookOptions& options, const LoadedModel& model) {
  Output output(options.out);  // reports a missing folder before the work
  output.write(look_file(model, options));
  output.finish();
  return 0;
}

// Files get no colours unless requested.
Terminal terminal_of(const LookOptions& options) {
  const bool plain = options.colour == "auto" && !options.to_stdout();
  return detect_terminal(plain ? "never" : options.colour);
}

LookTextOptions text_options(const LookOptions& options, std::int64_t top) {
  return {.top = top,
          .who = options.who,
          .to = options.to,
          .layer_given = options.layer.has_value(),
          .head_given = options.head.has_value()};
}

void write_answer(const LookOptions& options, const Look& answer, std::int64_t top) {
  Output output(options.out);
  if (options.format == "json") return write_json(output, answer);
  if (options.format == "tsv") return write_tsv(output, answer);
  const Terminal terminal = terminal_of(options);
  const LookTextOptions shown = text_options(options, top);
  output.write(!answer.columns.empty() ? columns_text(terminal, answer, shown)
               : answer.cells.empty()  ? look_text(terminal, answer, shown)
                                       : cells_text(terminal, answer, shown));
  output.finish();
}

void write_rows(const LookOptions& options, const Session& session, Stack stack,
                std::int64_t layers, ProgressLine& progress) {
  LookRequest request = request_of(options, session, stack);
  progress.begin("the heads: layers", layers);
  request.layer_scored = [&progress] { progress.advance(); };
  const Look answer = look(session, request);
  progress.begin("");  // the answer goes to the terminal
  write_answer(options, answer, request.top);
}

void write_flow(const LookOptions& options, const Session& session, const LoadedModel& model,
                Stack stack) {
  FlowOptions flow{
      .flow = {.stack = stack}, .by_effect = options.by == "effect", .format = options.format};
  const std::vector<std::int64_t> gaps =
      stack == Stack::kCross ? std::vector<std::int64_t>() : mask_places(session);
  flow.flow.position = !options.who.empty() ? tokens_of_who(session, stack, options.who).back()
                       : gaps.empty()       ? std::ssize(session.queries(stack)) - 1
                                            : gaps.front();
  if (!options.top.empty()) flow.top = count_of("--top", options.top);
  if (flow.top > 0) flow.flow.paths = flow.top;
  Output output(options.out);
  output.write(look_flow(terminal_of(options), session, model, flow));
  output.finish();
}

// The last token of each word; for the key, the last one before the query.
void write_why(const LookOptions& options, const Session& session, const LoadedModel& model,
               Stack stack, ProgressLine& progress) {
  LookRequest request = request_of(options, session, stack);
  const std::int64_t query = request.queries.back();
  const bool same = session.queries(stack).data() == session.keys(stack).data();
  std::int64_t key = request.cell_keys.back();
  for (const std::int64_t each : request.cell_keys)
    if (same && each <= query) key = each;
  request.queries = {query};
  request.cell_keys = {key};
  const Terminal terminal = terminal_of(options);
  const Look found = look(session, request);
  const WhyCell cell = {found.chosen, query, key};
  const std::string answer =
      options.format == "json"
          ? why_json(session, model, cell)
          : why_text(terminal, session, model, cell,
                     choice_text(terminal, found, text_options(options, request.top)));
  progress.begin("");
  Output output(options.out);
  output.write(answer);
  output.finish();
}

void write_heads(const LookOptions& options, const LoadedModel& model, const StackShape& stack,
                 const HeadFilter& filter) {
  ProgressLine progress;
  const Session session = open(options, model, progress);
  const Ranking ranking = rank_heads(session, model, stack.stack, filter, progress);
  progress.begin("");
  Output output(options.out);
  const Terminal terminal = terminal_of(options);
  output.write(options.format == "json" ? ranking_json(ranking, stack.causal)
                                        : ranking_text(terminal, ranking));
  output.finish();
}

void write_answers(const LookOptions& options, const Session& session, const LoadedModel& model,
                   const StackShape& stack, ProgressLine& progress) {
  if (options.format == "npy") {
    progress.begin("writing");
    write_npy_output(options, session, stack.stack);
  } else if (options.why) {
    progress.begin("why");
    write_why(options, session, model, stack.stack, progress);
  } else if (options.flow) {
    progress.begin("the flow");
    write_flow(options, session, model, stack.stack);
  } else {
    write_rows(options, session, stack.stack, layers_of(model.model->info()), progress);
  }
}

// The built-in model that reads the given texts and has the requested stack.
ModelKind unnamed_kind(const LookOptions& options) {
  std::string stack = options.stack;
  if (!options.view.empty())
    if (const ViewAddress view = read_view(options.view); !view.places.empty())
      if (const auto& shown = view.places[0].stack) stack = stack_name(*shown);
  const LookInput& input = options.input;
  return kind_that_reads(input.text, input.pair.has_value(), input.target.has_value(), stack);
}

// The text may come from stdin, which is read once.
void read_chat(LookInput& input, const LoadedModel& model) {
  input.text = given_text(input.text, std::exchange(input.file, {}));
  input.chat_text = chat_of("look", model, {}, input.text).text;
}

int run(const Given& given, LookOptions options) {
  const std::string second = take_link(options);
  check(given, options);
  read_standard_input(options.input);
  const LoadedModel model = load_model(find_model(options.model, unnamed_kind(options)),
                                       {.needs_tokenizers = options.input.ids.empty(),
                                        .packed = true,
                                        .dtype = options.dtype,
                                        .streamed = true});  // until the text is known (make_room)
  tell_of_lost_tokenizer("look", model);
  take_second(options, second, model.model->info());
  const StackShape stack = options.stack_of(model.name, model.model->info());
  if (options.layer) check_layer("look", model.name, stack, *options.layer);
  if (options.head) check_head("look", model.name, stack, *options.head);
  if (options.input.chat) read_chat(options.input, model);
  if (options.is_page()) return write_page_file(options, model);
  if (options.heads) {
    write_heads(options, model, stack, ranking_filter(*options.heads, model.name, stack));
    return 0;
  }
  ProgressLine progress;
  const Session session = open(options, model, progress);
  write_answers(options, session, model, stack, progress);
  return 0;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<LookOptions>();
  add_look_options(list, *options);
  add_memory_options(list, options->memory);
  add(list, {model_option(options->model),
             threads_option(),
             kernel_option(),
             {.name = "--dtype",
              .to = [options](const std::string& name) { options->dtype = dtype_named(name); },
              .help = "hold weights in this type (default: f32, whatever the file has)",
              .words = {"f32", "f16", "bf16"}}});
  return [options](const Given& given) {
    options->text_given = given.has("TEXT");
    options->format = chosen_format(*options);
    if (!options->layer) options->layer = options->layer_of_head;
    return run(given, *options);
  };
}

}  // namespace

Command look_command() {
  return {"look", "who attends to whom in a text, what each head does, the next word",
          "  heed look \"The cat sat on the mat because it was tired.\"\n"
          "  heed look \"The king had a daughter, and he\" --layer 3 --head 1 --who he --to king\n"
          "  heed look \"The king had a daughter, and he\" --who he --to king --why\n"
          "  heed look --file examples/story.txt --heads \"previous>0.2\"\n"
          "  heed look --file examples/story.txt -o weights.npy\n"
          "  heed look --file examples/story.txt --view look/L2.H4/i=17/j=3 -o view.svg\n"
          "  heed look --file examples/story.txt --flow -o flow.graphml\n"
          "  heed look --file examples/story.txt -o story.html",
          declare};
}

}  // namespace heed::cli
