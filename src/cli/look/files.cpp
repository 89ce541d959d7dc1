#include "cli/look/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/wording.h"
#include "cli/look/browser.h"
#include "cli/look/input.h"
#include "cli/look/view.h"
#include "heed/error.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/fields.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/look.h"
#include "inspect/saved/saved_page.h"
#include "inspect/session/session_input.h"
#include "io/npy_header.h"
#include "serve/page_sources.h"
#include "tensor/views.h"

namespace heed::cli {
namespace {

const std::string& bytes_of(const std::vector<SessionToken>& tokens, std::int64_t index) {
  return tokens[static_cast<std::size_t>(index)].bytes;
}

}  // namespace

std::string escaped(const std::string& bytes) {
  return replaced(token_text(bytes), {{'\t', "\\t"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\\', "\\\\"}});
}

void write_json(Output& output, const Look& look) {
  AnswerWriter writer(JsonLayout::kLines, [&](std::string_view part) {
    check_interrupted();
    output.write(part);
  });
  writer.write(LookAnswer{look});
  output.finish();
}

void write_tsv(Output& output, const Look& look) {
  const auto text_of = [&](std::int64_t token) { return token < *look.split ? 'A' : 'B'; };
  const auto write = [&](std::int64_t query, std::int64_t key, auto weight) {
    output.write(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", look.chosen.layer, look.chosen.head,
                             query, escaped(bytes_of(look.tokens, query)), key,
                             escaped(bytes_of(look.keys(), key)), weight));
    if (look.split) output.write(fmt::format("\t{}\t{}", text_of(query), text_of(key)));
    output.write("\n");
  };
  output.write("layer\thead\tquery\tquery_token\tkey\tkey_token\tweight");
  output.write(look.split ? "\tquery_text\tkey_text\n" : "\n");
  for (const LookCell& cell : look.cells) write(cell.query, cell.key, cell.weight);
  for (const LookColumn& column : look.columns)
    for (const LookQuery& from : column.from) write(from.query, column.key, from.weight);
  for (const LookRow& row : look.rows) {
    check_interrupted();
    if (!look.cells.empty() || !look.columns.empty()) break;  // they are the whole answer
    for (const LookKey& key : row.attends) write(row.query, key.key, key.weight);
  }
  output.finish();
}

void write_weights_npy(Output& output, const Session& session, Stack which,
                       std::optional<int> layer, std::optional<int> head) {
  const SessionStack& stack = session.at(which);
  if (layer) session.require_kept("look", stack.shape, *layer);
  const MatrixSize size = session.size(which);
  const auto layers = std::ranges::count_if(stack.layers, &LayerAttention::is_kept);
  const Shape shape = {layer ? 1 : layers, head ? 1 : stack.shape.heads, size.queries, size.keys};
  output.write(format_npy_header({.dtype = DType::kF32, .fortran_order = false, .shape = shape}));
  for (int index = 0; index < stack.shape.layers; ++index) {
    if ((layer && *layer != index) || !session.keeps(stack.shape, index)) continue;
    visit_rows(stack.layers[static_cast<std::size_t>(index)], head,
               [&](std::int64_t, std::int64_t, std::span<const float> weights) {
                 check_interrupted();
                 output.write(weights.data(), weights.size_bytes());
               });
  }
  output.finish();
}

void write_array_npy(Output& output, const Tensor& array) {
  output.write(
      format_npy_header({.dtype = array.dtype(), .fortran_order = false, .shape = array.shape()}));
  output.write(array.view().raw(), byte_count(array));
  output.finish();
}

namespace {

// Works to the end, or until the pass has ended.
void work(LiveSession& live, bool pass_alone) {
  Overviews none_kept(0);  // the saved file makes its own
  while (!(pass_alone && live.pass_ended()) && live.work(interrupted, none_kept)) {
  }
  check_interrupted();
  if (const std::exception_ptr failed = live.progress().failed) std::rethrow_exception(failed);
}

// The text's session, tokenized and run once, however it is shown. Its heads are scored if the file
// contains their scores, or if heed chooses the view's head.
std::shared_ptr<LiveSession> open_live(const LoadedModel& model, const SessionInput& input,
                                       const LookOptions& options) {
  Session session = cut_text(model, input.texts());
  session.keep = options.memory.keep;
  make_room("look", model, session, {.streams = true}, options.memory);
  if (!options.view.empty()) view_of({options.view}, session, {});  // errors before the work
  const bool chosen = options.view.empty() ? options.layer && options.head
                                           : !read_view(options.view).places.empty();
  auto live = std::make_shared<LiveSession>("saved", input, std::move(session), model);
  live->memory = options.memory.limit;
  work(*live, chosen && options.format != "html");
  return live;
}

ShownView view_of(const LookOptions& options, const LiveSession& live) {
  return view_of(ViewOptions{options.view, heed::stack_of(options.stack), options.layer,
                             options.head, options.who, options.to},
                 live.session(), [&] { return live.scores(); });
}

std::string html_file(const LoadedModel& model, const SessionInput& input,
                      const LookOptions& options) {
  const std::shared_ptr<LiveSession> live = open_live(model, input, options);
  const auto [view, chosen] = view_of(options, *live);
  const std::shared_ptr<LiveSession> edited = edited_side(*live, model, view, interrupted);
  check_interrupted();
  return saved_page(serve::page_sources(), *live, view, kSavedBytes, edited.get(), chosen);
}

std::string picture_file(const LoadedModel& model, const SessionInput& input,
                         const LookOptions& options) {
  const std::string program = find_browser("--format " + options.format, "--format html");
  const std::shared_ptr<LiveSession> live = open_live(model, input, options);
  return draw_picture(live, view_of(options, *live).view,
                      {.format = options.format,
                       .width = options.width,
                       .dark = options.theme == "dark",
                       .panel = options.panel,
                       .program = program,
                       .model = &model,
                       .check = check_interrupted});
}

}  // namespace

std::string look_file(const LoadedModel& model, const LookOptions& options) {
  const SessionInput input = {.text = text_of(options.input, model),
                              .pair = options.input.pair,
                              .target = options.input.target,
                              .chat = options.input.chat_text};
  if (!model.tokenizer)
    fail({.found = model.name + " has no tokenizer", .expected = "a model with one"});
  serve::require_page(options.format);
  const InterruptScope scope;  // ends the browser and removes its folder before heed exits
  return options.format == "html" ? html_file(model, input, options)
                                  : picture_file(model, input, options);
}

}  // namespace heed::cli
