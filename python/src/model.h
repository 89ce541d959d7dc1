// Models as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "heed/models/registry.h"

namespace heed::python {

/// A model that lives as long as anything of it: a session, a generation.
struct HeldModel {
  std::shared_ptr<const LoadedModel> loaded;

  const Model& model() const { return *loaded->model; }
  /// Throws where the model has no tokenizer.
  const Tokenizer& tokenizer() const;
};

/// A list of whole numbers that fit; a TypeError or a ValueError that names `argument` otherwise.
std::vector<TokenId> token_ids(nanobind::handle ids, const char* argument);

/// A token's text in valid UTF-8.
nanobind::str text_of_bytes(const std::string& bytes);
nanobind::bytes as_bytes(const std::string& bytes);

void bind_model(nanobind::module_& module);
void bind_tokenizer(nanobind::module_& module);

}  // namespace heed::python
