// The content of `heed look` for a session.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/look/text.h"
#include "computing.h"
#include "heed/error.h"
#include "inspect/answers/answer_writer.h"
#include "inspect/answers/look.h"
#include "inspect/rows/words.h"
#include "session.h"

namespace heed::python {
namespace {

using Indices = std::vector<std::int64_t>;

// A place, and the question about it, with tokens as indices.
struct Question {
  std::optional<std::string> stack;
  std::optional<int> layer, head;
  std::int64_t top = 3;
  Indices queries, cell_keys, columns;
  std::int64_t rows = -1;
  bool scored = true;  // false: a named head is shown without the other heads' scores
};

std::vector<HeadScores> scores_for(HeldSession& held, Stack stack, const Question& asked) {
  if (asked.scored || !asked.layer || !asked.head || !held.scores.empty()) return scores_of(held);
  HeadScores alone = {.place = {stack, *asked.layer, *asked.head}, .values = {}};
  alone.values.resize(score_infos().size());
  return {alone};
}

Look answer(HeldSession& held, const Question& asked) {
  const Stack stack = stack_named(held, asked.stack).shape.stack;
  LookRequest request = {.stack = stack,
                         .layer = asked.layer,
                         .head = asked.head,
                         .top = asked.top,
                         .queries = asked.queries,
                         .rows = asked.rows,
                         .cell_keys = asked.cell_keys,
                         .columns = asked.columns,
                         .scores = scores_for(held, stack, asked)};
  return computing([&] { return look(held.session, request); });
}

std::string json(HeldSession& held, const Question& asked) {
  const Look found = answer(held, asked);
  AnswerWriter writer(JsonLayout::kLines);
  writer.write(LookAnswer{found});
  return writer.text();
}

struct Shown {
  cli::Terminal terminal;
  cli::LookTextOptions options;
};

std::string text(HeldSession& held, const Question& asked, const Shown& shown) {
  const Look found = answer(held, asked);
  if (!found.columns.empty()) return cli::columns_text(shown.terminal, found);
  return found.cells.empty() ? cli::look_text(shown.terminal, found, shown.options)
                             : cli::cells_text(shown.terminal, found, shown.options);
}

struct HeadsTableAnswer {
  const std::vector<HeadScores>& heads;
  bool causal = false;
  void describe(auto& field) const {
    field.list("heads", heads,
               [&](const HeadScores& head) { return LookHeadAnswer{head, causal}; });
  }
};

std::string heads(HeldSession& held) {
  return to_json(HeadsTableAnswer{scores_of(held), held.session.info.causal});
}

// `argument` has the word; `other` is the argument for words of the other side.
Indices find_word(const HeldSession& held, const std::string& word, const std::string& argument,
                  const std::string& other, const std::optional<std::string>& stack, bool keys) {
  return heed::find_word(held.session, stack_named(held, stack).shape.stack, keys, word,
                         {.queries = keys ? other : argument, .keys = keys ? argument : other});
}

// The next words after a position whose logits are kept: (id, text, bytes, probability), and the
// number and total probability of the others.
nb::tuple next(const HeldSession& held, std::int64_t top, std::int64_t position) {
  if (top < 1) fail("next", "top", top, "at least 1");
  const Session& session = held.session;
  if (session.info.vocabulary == 0)
    fail({.code = ErrorCode::kUnsupported,
          .op = "next",
          .found = "the session holds attention alone",
          .expected = "one whose logits are known: of a text that a model of heed.load read"});
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t kept = session.logits.given() ? session.logits.dim(0) : 0;
  if (kept > 0 && (position < length - kept || position >= length))
    fail({.code = ErrorCode::kNotFound,
          .op = "next",
          .argument = "position",
          .found = position,
          .expected = kept == length ? "0 to " + std::to_string(length - 1)
                                     : "-1, the last: logits=True keeps those of every token"});
  Session one;
  one.info = session.info;
  one.tokenizer = session.tokenizer;
  const std::int64_t row = position - (length - kept);
  if (kept > 0) one.logits = Tensor::copy_of(session.logits.view().slice(0, row, row + 1));
  const NextWords found = next_words(one, top);
  nb::list words;
  for (const NextWord& word : found.words)
    words.append(
        nb::make_tuple(word.id, text_of_bytes(word.bytes), as_bytes(word.bytes), word.probability));
  return nb::make_tuple(words, found.rest_count, found.rest_probability);
}

void init_question(Question* self, std::optional<std::string> stack, std::optional<int> layer,
                   std::optional<int> head, std::int64_t top, Indices queries, Indices cell_keys,
                   Indices columns, std::int64_t rows, bool scored) {
  new (self) Question{.stack = std::move(stack),
                      .layer = layer,
                      .head = head,
                      .top = top,
                      .queries = std::move(queries),
                      .cell_keys = std::move(cell_keys),
                      .columns = std::move(columns),
                      .rows = rows,
                      .scored = scored};
}

void init_shown(Shown* self, int width, bool utf8, std::int64_t top, const std::string& who,
                const std::string& to) {
  new (self)
      Shown{.terminal = {.width = std::max(16, width), .utf8 = utf8},
            .options = {.top = top, .all_rows = "rows=None shows every one", .who = who, .to = to}};
}

}  // namespace

void bind_session_looks(nb::module_& module) {
  nb::class_<Question>(module, "Question")
      .def("__init__", &init_question, nb::arg("stack").none(), nb::arg("layer").none(),
           nb::arg("head").none(), nb::arg("top"), nb::arg("queries"), nb::arg("cell_keys"),
           nb::arg("columns"), nb::arg("rows"), nb::arg("scored"));
  nb::class_<Shown>(module, "Shown")
      .def("__init__", &init_shown, nb::arg("width"), nb::arg("utf8"), nb::arg("top"),
           nb::arg("who"), nb::arg("to"));
  module.def("look_json", &json, nb::arg("session"), nb::arg("question"));
  module.def("look_text", &text, nb::arg("session"), nb::arg("question"), nb::arg("shown"));
  module.def("heads", &heads, nb::arg("session"));
  module.def("find_word", &find_word, nb::arg("session"), nb::arg("word"), nb::arg("argument"),
             nb::arg("other"), nb::arg("stack").none(), nb::arg("keys"));
  module.def("next_words", &next, nb::arg("session"), nb::arg("top"), nb::arg("position"));
}

}  // namespace heed::python
