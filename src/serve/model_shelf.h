// The models that sessions run through: the one that is served, and others that were asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/models/registry.h"
#include "serve/watched_steps.h"

namespace heed::serve {

struct ShelvedModel {
  std::shared_ptr<const LoadedModel> model;
  std::string identity;
};
using ModelPointer = std::shared_ptr<const ShelvedModel>;

class ModelShelf {
 public:
  /// `served` must outlive the shelf; null: there is none, and no other is loaded. `watched`: a
  /// folder with the models of a run's steps; empty: none.
  explicit ModelShelf(const LoadedModel* served, std::filesystem::path watched = {});

  /// The model of this name; empty: the served one, which may be null. Another one is loaded where
  /// `heed models` lists it: a name is never taken for a folder. not_found lists what there is.
  ModelPointer find(const std::string& name);
  /// The steps of the run that is watched, in order; none where none is.
  std::optional<std::vector<std::int64_t>> steps() const;

 private:
  ModelPointer load(const std::string& name) const;
  std::filesystem::path folder_of(const std::string& name) const;

  ModelPointer served_;
  std::filesystem::path watched_;
  std::mutex guard_;
  std::list<ModelPointer> loaded_;  // the one asked for last is first
};

/// Those that `heed models` finds and that can be loaded, by their names.
std::vector<FoundModel> models_to_choose();

}  // namespace heed::serve
