// Models in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "heed/model.h"

namespace heed::python {

/// A model that is kept alive by its sessions and generations.
struct HeldModel {
  std::shared_ptr<const LoadedModel> loaded;

  const Model& model() const { return *loaded->model; }
  /// Throws if the model has no tokenizer.
  const Tokenizer& tokenizer() const;
};

/// A list of whole numbers in range; otherwise a TypeError or ValueError that names `argument`.
std::vector<TokenId> token_ids(nanobind::handle ids, const char* argument);

/// A token's text in valid UTF-8.
nanobind::str text_of_bytes(const std::string& bytes);
nanobind::bytes as_bytes(const std::string& bytes);

void bind_model(nanobind::module_& module);
void bind_tokenizer(nanobind::module_& module);

}  // namespace heed::python
