// A model's tokenizers.
#include "heed/tokenizer.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.h"
#include "errors.h"
#include "model.h"

namespace heed::python {
namespace {

/// For the model's input, or for its output.
struct HeldTokenizer {
  HeldModel model;
  bool target = false;

  const Tokenizer& get() const {
    const Tokenizer& reads = model.tokenizer();
    return target ? *model.loaded->writing_tokenizer() : reads;
  }
};

nb::tuple encode(const HeldTokenizer& held, const std::string& text,
                 const std::optional<std::string>& pair, bool special) {
  const Tokenizer& tokenizer = held.get();
  const Encoding encoding =
      pair ? tokenizer.encode_pair(text, *pair, special) : tokenizer.encode(text, special);
  nb::list ids;
  nb::list spans;
  nb::list texts;
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    ids.append(encoding.ids[i]);
    spans.append(nb::make_tuple(encoding.spans[i].begin, encoding.spans[i].end));
    texts.append(encoding.texts.empty() ? 0 : static_cast<int>(encoding.texts[i]));
  }
  return nb::make_tuple(ids, spans, texts);
}

const Tokenizer& checked(const HeldTokenizer& held, const std::vector<TokenId>& ids) {
  const Tokenizer& tokenizer = held.get();
  const std::int64_t size = std::max(tokenizer.vocabulary_size(), tokenizer.padded_size());
  for (const TokenId id : ids)
    if (id < 0 || id >= size) fail("tokenizer", "ids", id, "0 to " + std::to_string(size - 1));
  return tokenizer;
}

nb::bytes decode(const HeldTokenizer& held, const nb::object& given, bool skip_special) {
  const std::vector<TokenId> ids = token_ids(given, "ids");
  return as_bytes(checked(held, ids).decode(ids, skip_special));
}

nb::bytes token(const HeldTokenizer& held, TokenId id) {
  return as_bytes(checked(held, {id}).token_bytes(id));
}

bool is_special(const HeldTokenizer& held, TokenId id) {
  return checked(held, {id}).is_special(id);
}

TokenId find(const HeldTokenizer& held, const std::string& piece) { return held.get().find(piece); }

std::int64_t length(const HeldTokenizer& held) { return held.get().vocabulary_size(); }

}  // namespace

void bind_tokenizer(nb::module_& module) {
  nb::class_<HeldTokenizer>(module, "Tokenizer")
      .def(
          "__init__",
          [](HeldTokenizer* self, const HeldModel& model, bool target) {
            new (self) HeldTokenizer{.model = model, .target = target};
          },
          nb::arg("model"), nb::arg("target"))
      .def_prop_ro("model", [](const HeldTokenizer& held) { return held.model.loaded->name; })
      .def("encode", &encode, nb::arg("text"), nb::arg("pair").none(), nb::arg("special"))
      .def("decode", &decode, nb::arg("ids"), nb::arg("skip_special"))
      .def("token", &token, nb::arg("id"))
      .def("is_special", &is_special, nb::arg("id"))
      .def_prop_ro("unknown_token",
                   [](const HeldTokenizer& held) { return held.get().unknown_token(); })
      .def("find", &find, nb::arg("piece"))
      .def("__len__", &length);
}

}  // namespace heed::python
