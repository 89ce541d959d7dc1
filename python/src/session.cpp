#include "session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "arrays.h"
#include "computing.h"
#include "errors.h"
#include "inspect/answers/view_parts.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/session/session_input.h"
#include "inspect/session/visible_keys.h"
#include "seen.h"

namespace heed::python {
namespace {

constexpr std::int64_t kKeptLogits = std::int64_t{1} << 24;  // 64 MB; the same as for the page

Stack stack_called(const std::string& name) {
  const std::optional<Stack> stack = stack_of(name);
  if (!stack)
    fail({.code = ErrorCode::kNotFound,
          .argument = "stack",
          .found = "\"" + name + "\"",
          .expected = "\"self\", \"encoder\", \"decoder\" or \"cross\""});
  return *stack;
}

Keep part_named(const std::optional<std::string>& cut) {
  if (!cut) return Keep::kAll;
  if (*cut == "first") return Keep::kFirst;
  if (*cut == "last") return Keep::kLast;
  fail({.op = "look",
        .argument = "cut",
        .found = "\"" + *cut + "\"",
        .expected = "\"first\", \"last\" or None"});
}

struct Opening {
  SessionInput input = {};
  bool of_ids = false;
  std::optional<std::vector<TokenId>> target_ids = {};
  std::optional<std::string> cut = {};
  bool logits = false;
  bool hidden = false;
  bool is_run = true;  // else edits come first
  KeptAttention keep = {};
};

// `keep` has been checked in Python.
KeptAttention kept_of(const std::optional<std::vector<int>>& layers, const std::string& keep) {
  return {.layers = layers, .dtype = keep == "float16" ? DType::kF16 : DType::kF32};
}

Session tokenized(const LoadedModel& model, Opening& asked) {
  if (asked.of_ids)
    return asked.target_ids ? tokenize_session(model, asked.input.ids,
                                               std::span<const TokenId>(*asked.target_ids))
                            : tokenize_session(model, std::span<const TokenId>(asked.input.ids));
  asked.input.text = shorten(model, asked.input.text, part_named(asked.cut), asked.input.pair);
  return tokenize_session(model, asked.input.texts());
}

void run(HeldSession& held) {
  Session& session = held.session;
  const bool few = std::ssize(session.tokens) * session.info.vocabulary <= kKeptLogits;
  run_session(session, *held.model,
              {.all_logits = few || held.logits,
               .hidden = held.hidden,
               .streams = true});  // the page's lens reads them
}

SessionHandle open(const HeldModel& model, Opening asked) {
  auto held = std::make_shared<HeldSession>();
  held->model = model.loaded;
  held->logits = asked.logits;
  held->hidden = asked.hidden;
  computing([&] {
    held->session = tokenized(*model.loaded, asked);
    held->session.keep = asked.keep;
    if (asked.is_run) run(*held);
  });
  held->input = std::move(asked.input);
  return held;
}

SessionHandle open_texts(const HeldModel& model, const std::string& text,
                         const std::optional<std::string>& pair,
                         const std::optional<std::string>& target,
                         const std::optional<std::string>& cut, bool logits, bool hidden,
                         const std::optional<std::vector<int>>& keep_layers,
                         const std::string& keep, bool run) {
  return open(model, {.input = {.text = text, .pair = pair, .target = target},
                      .cut = cut,
                      .logits = logits,
                      .hidden = hidden,
                      .is_run = run,
                      .keep = kept_of(keep_layers, keep)});
}

SessionHandle open_ids(const HeldModel& model, const nb::object& ids, const nb::object& target,
                       bool logits, bool hidden, const std::optional<std::vector<int>>& keep_layers,
                       const std::string& keep, bool run) {
  Opening asked = {.of_ids = true,
                   .logits = logits,
                   .hidden = hidden,
                   .is_run = run,
                   .keep = kept_of(keep_layers, keep)};
  asked.input.ids = token_ids(ids, "ids");
  if (!target.is_none()) asked.target_ids = token_ids(target, "target");
  return open(model, std::move(asked));
}

nb::list tokens_of(std::span<const SessionToken> tokens) {
  nb::list list;
  for (const SessionToken& token : tokens)
    list.append(nb::make_tuple(token.id, text_of_bytes(token.bytes), as_bytes(token.bytes),
                               token.begin, token.end, token.text));
  return list;
}

nb::list stacks_of(const HeldSession& held) {
  nb::list list;
  for (const SessionStack& stack : held.session.stacks) {
    const StackShape& shape = stack.shape;
    const MatrixSize size = held.session.size(shape.stack);
    std::vector<int> numbers;  // of the layers that have attention
    for (int layer = 0; layer < shape.layers; ++layer)
      if (shape.has(layer)) numbers.push_back(layer);
    list.append(nb::make_tuple(std::string(stack_name(shape.stack)), shape.layers, numbers,
                               shape.heads, shape.kv_heads, shape.causal, size.queries, size.keys));
  }
  return list;
}

// The layer's attention in the form of `attention(..., seen=True)`. Keeps the session alive.
Seen seen_of(const SessionHandle& held, const std::string& stack, int layer) {
  const Place place = {.stack = stack_called(stack), .layer = layer};
  const LayerAttention& attention = held->session.at(place);
  Seen seen;
  seen.problem.args = attention.args();
  seen.problem.memory.push_back({.view = attention.q.view(), .owner = held});
  seen.lse = attention.lse.share();
  seen.lse_low = attention.lse_low.share();
  return seen;
}

nb::object array_of(const Tensor& tensor) {
  return tensor.given() ? exported(Tensor::copy_of(tensor)) : nb::none();
}

// The same session with another one beside it, for a page that compares them.
SessionHandle compared(const SessionHandle& held, const SessionHandle& other,
                       const std::string& name) {
  auto both = std::make_shared<HeldSession>();
  both->model = held->model;
  both->problems = held->problems;
  both->input = held->input;
  both->session = shared(held->session);
  both->beside = other;
  both->beside_name = name;
  return both;
}

}  // namespace

const SessionStack& stack_named(const HeldSession& held, const std::optional<std::string>& name) {
  if (!name) return held.session.stacks.at(0);
  return held.session.at(stack_called(*name));
}

SessionHandle edited_session(const SessionHandle& base, const Edits& edits,
                             std::vector<Problem> masks) {
  auto held = std::make_shared<HeldSession>();
  held->model = base->model;
  held->problems = base->problems;
  for (Problem& mask : masks) held->problems.push_back(std::move(mask));
  held->logits = base->logits;
  held->hidden = base->hidden;
  held->input = base->input;
  computing([&] {
    held->session = with_edits(base->session, edits);
    run(*held);
  });
  held->input.edits = held->session.edits;
  return held;
}

SessionPointer live_session(const HeldSession& held, const std::string& id) {
  return std::make_shared<LiveSession>(id, held.input, shared(held.session), held.model.get());
}

SessionPointer live_beside(const HeldSession& held) {
  return held.beside ? live_session(*held.beside, run_id(held.beside_name)) : nullptr;
}

const std::vector<HeadScores>& scores_of(HeldSession& held) {
  if (held.scores.empty()) held.scores = computing([&] { return score_heads(held.session); });
  return held.scores;
}

void bind_session(nb::module_& module) {
  nb::class_<HeldSession>(module, "Session")
      .def_prop_ro("model", [](const HeldSession& held) { return held.session.model; })
      .def_prop_ro("built_in", [](const HeldSession& held) { return held.session.built_in; })
      .def_prop_ro("causal", [](const HeldSession& held) { return held.session.info.causal; })
      .def_prop_ro("split", [](const HeldSession& held) { return held.session.split; })
      .def_prop_ro("text", [](const HeldSession& held) { return held.input.text; })
      .def_prop_ro("pair", [](const HeldSession& held) { return held.input.pair; })
      .def_prop_ro("target", [](const HeldSession& held) { return held.input.target; })
      .def_prop_ro("stacks", &stacks_of)
      .def_prop_ro("keep_layers", [](const HeldSession& held) { return held.session.keep.layers; })
      .def_prop_ro("score_error",
                   [](const HeldSession& held) { return held.session.score_error(); })
      .def_prop_ro("tokens", [](const HeldSession& held) { return tokens_of(held.session.tokens); })
      .def_prop_ro("key_tokens",
                   [](const HeldSession& held) { return tokens_of(held.session.key_tokens); })
      .def_prop_ro("logits", [](const HeldSession& held) { return array_of(held.session.logits); })
      .def_prop_ro("hidden", [](const HeldSession& held) { return array_of(held.session.hidden); })
      .def("seen", &seen_of, nb::arg("stack"), nb::arg("layer"));
  module.def("compared", &compared, nb::arg("session"), nb::arg("other"), nb::arg("name"));
  module.def("open_texts", &open_texts, nb::arg("model"), nb::arg("text"), nb::arg("pair").none(),
             nb::arg("target").none(), nb::arg("cut").none(), nb::arg("logits"), nb::arg("hidden"),
             nb::arg("keep_layers").none(), nb::arg("keep"), nb::arg("run"));
  module.def("open_ids", &open_ids, nb::arg("model"), nb::arg("ids"), nb::arg("target").none(),
             nb::arg("logits"), nb::arg("hidden"), nb::arg("keep_layers").none(), nb::arg("keep"),
             nb::arg("run"));
}

}  // namespace heed::python
