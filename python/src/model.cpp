#include "model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "arrays.h"
#include "computing.h"
#include "errors.h"
#include "heed/look.h"
#include "heed/model.h"
#include "heed/tensor.h"
#include "inspect/answers/fields.h"
#include "inspect/session/session_memory.h"
#include "models/search_path.h"

namespace heed::python {
namespace {

DType type_named(const std::string& name) {
  const auto* const row = std::ranges::find(kDTypes, name, &DTypeInfo::name);
  if (row == std::ranges::end(kDTypes) || !is_floating(row->dtype) || row->dtype == DType::kF64)
    fail({.op = "load",
          .argument = "dtype",
          .found = name,
          .expected = "\"float32\", \"float16\", \"bfloat16\" or None, the file's own"});
  return row->dtype;
}

// `stream`: whether weights stay in the file; none: where they do not fit into memory.
HeldModel load(const std::string& name, const std::optional<std::string>& dtype,
               std::optional<bool> stream) {
  LoadOptions options = {.packed = true, .streamed = stream.value_or(true)};
  if (dtype) options.dtype = type_named(*dtype);
  return computing([&] {
    auto model = std::make_shared<const LoadedModel>(load_model(find_model(name), options));
    if (!stream) hold_if_room(*model->model, {});
    return HeldModel{std::move(model)};
  });
}

std::string built_in_model(const std::string& text, bool has_pair, bool has_target) {
  return find_model({}, kind_that_reads(text, has_pair, has_target)).string();
}

nb::dict as_dict(const StackShape& stack) {
  nb::dict dict;
  dict["name"] = std::string(stack_name(stack.stack));
  dict["layers"] = stack.layers;
  dict["heads"] = stack.heads;
  dict["kv_heads"] = stack.kv_heads;
  dict["causal"] = stack.causal;
  return dict;
}

nb::dict info_of(const HeldModel& held) {
  const ModelInfo& info = held.model().info();
  nb::dict dict;
  dict["family"] = info.family;
  dict["title"] = info.title;
  dict["layers"] = info.layers;
  dict["heads"] = info.heads;
  dict["kv_heads"] = info.kv_heads;
  dict["width"] = info.width;
  dict["head_dim"] = info.head_dim;
  dict["vocabulary"] = info.vocabulary;
  dict["positions"] = info.positions;
  dict["parameters"] = parameter_count(held.model());
  dict["causal"] = info.causal;
  dict["writes"] = info.writes();
  dict["reads_source"] = info.reads_source();
  nb::list stacks;
  for (const StackShape& stack : info.stacks) stacks.append(as_dict(stack));
  dict["stacks"] = stacks;
  return dict;
}

// [1, T] i32.
Tensor row_of(const std::vector<TokenId>& ids) {
  Tensor row = Tensor::empty({1, std::ssize(ids)}, DType::kI32);
  std::ranges::copy(ids, row.data<TokenId>());
  return row;
}

nb::object logits(const HeldModel& held, const nb::object& ids, const nb::object& source) {
  const Tensor tokens = row_of(token_ids(ids, "ids"));
  const Tensor read = row_of(token_ids(source, "source"));
  const ModelInfo& info = held.model().info();
  if (!info.has_logits) fail({.op = "logits", .found = held.loaded->name + " has no logits"});
  if (info.reads_source() == source.is_none())
    fail({.op = "logits",
          .argument = "source",
          .found = source.is_none() ? "" : "given",
          .expected = (source.is_none() ? "ids: " : "none: ") + held.loaded->name +
                      (source.is_none() ? " is an encoder-decoder" : " reads no source")});
  Tensor found = computing([&] {
    Run run;
    run.in_bulk = tokens.dim(1) >= kBulkRows;
    Batch batch = {.ids = tokens};
    if (info.reads_source()) batch.source = read;
    return held.model().forward(batch, run);
  });
  const Shape shape = {found.dim(1), found.dim(2)};
  return exported(std::move(found).reshaped(shape));
}

nb::tuple probe(const HeldModel& held, int sequences, std::int64_t period, std::uint64_t seed) {
  const ProbeOptions options = {.sequences = sequences, .period = period, .seed = seed};
  const Probe found = computing([&] { return probe_heads(*held.loaded, options); });
  nb::list heads;
  for (const ProbedHead& head : found.heads)
    heads.append(nb::make_tuple(head.layer, head.head, head.previous, head.sink, head.duplicate,
                                head.induction));
  return nb::make_tuple(found.period, found.sequences, heads, found.loss_first,
                        found.loss_repeated);
}

std::string chat(const HeldModel& held, const std::string& variables,
                 const std::string& chat_template) {
  return chat_text(*held.loaded, variables, chat_template);
}

nb::list found_models() {
  nb::list list;
  for (const FoundModel& model : list_models())
    list.append(nb::make_tuple(model.name, model.folder.string(), model.built_in, model.by_name,
                               card_line(model.folder)));
  return list;
}

}  // namespace

const Tokenizer& HeldModel::tokenizer() const {
  if (loaded->tokenizer == nullptr)
    fail({.found = loaded->name + " has no tokenizer", .expected = "token ids"});
  return *loaded->tokenizer;
}

std::vector<TokenId> token_ids(nb::handle ids, const char* argument) {
  std::vector<TokenId> list;
  for (const std::int64_t id : integers(ids, argument)) {
    if (id < 0 || id > std::numeric_limits<TokenId>::max())
      fail({.argument = argument, .found = id, .expected = "ids of the vocabulary"});
    list.push_back(static_cast<TokenId>(id));
  }
  return list;
}

nb::str text_of_bytes(const std::string& bytes) {
  const std::string text = token_text(bytes);
  return nb::str(text.data(), text.size());
}

nb::bytes as_bytes(const std::string& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

void bind_model(nb::module_& module) {
  module.def(
      "set_built_in_models", [](const std::string& folder) { set_built_in_models(folder); },
      nb::arg("folder"));
  module.def("list_models", &found_models);
  module.def("built_in_model", &built_in_model, nb::arg("text"), nb::arg("has_pair"),
             nb::arg("has_target"));
  module.def("load", &load, nb::arg("name"), nb::arg("dtype").none(), nb::arg("stream").none());
  nb::class_<HeldModel>(module, "Model")
      .def_prop_ro("streams",
                   [](const HeldModel& held) {
                     return std::ranges::any_of(held.model().parameters(), &Parameter::is_streamed);
                   })
      .def_prop_ro("name", [](const HeldModel& held) { return held.loaded->name; })
      .def_prop_ro("folder", [](const HeldModel& held) { return held.loaded->folder.string(); })
      .def_prop_ro("built_in", [](const HeldModel& held) { return held.loaded->built_in; })
      .def_prop_ro("has_tokenizer",
                   [](const HeldModel& held) { return held.loaded->tokenizer != nullptr; })
      .def_prop_ro("info", &info_of)
      .def("probe", &probe, nb::arg("sequences"), nb::arg("period"), nb::arg("seed"))
      .def("chat_text", &chat, nb::arg("variables"), nb::arg("chat_template"))
      .def("logits", &logits, nb::arg("ids"), nb::arg("source").none());
}

}  // namespace heed::python
