// The models that run sessions: the served one, and others on request.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "heed/model.h"
#include "serve/connection.h"
#include "serve/server.h"

namespace heed {

/// folder/step-<step>
std::filesystem::path watched_step(const std::filesystem::path& folder, std::int64_t step);

/// The steps whose models are in a folder, in order.
std::vector<std::int64_t> watched_steps(const std::filesystem::path& folder);

}  // namespace heed

namespace heed::serve {

struct ShelvedModel {
  std::shared_ptr<const LoadedModel> model;
  std::string identity;
};
using ModelPointer = std::shared_ptr<const ShelvedModel>;

class ModelShelf {
 public:
  /// `served` must outlive the shelf; null: there is none, and no other is loaded. Of the
  /// options: the folder with the models of a run's steps, and what models may take.
  ModelShelf(const LoadedModel* served, const ServerOptions& options,
             const std::atomic<bool>& server_stops);

  /// The model with this name; empty: the served one, which may be null. Others are loaded if `heed
  /// models` lists them: a name is never treated as a path. not_found lists the available models.
  /// Throws kInterrupted once the client is gone or the server stops.
  ModelPointer find(const std::string& name);
  /// The steps of the watched run, in order; empty if none is watched.
  std::optional<std::vector<std::int64_t>> steps() const;

 private:
  ModelPointer load(const std::string& name, const ClientWatch& client) const;
  std::filesystem::path folder_of(const std::string& name, const ClientWatch& client) const;

  const std::atomic<bool>& server_stops_;
  ModelPointer served_;
  std::filesystem::path watched_;
  bool stream_;
  std::optional<std::int64_t> memory_;
  std::timed_mutex guard_;
  std::list<ModelPointer> loaded_;  // most recently used first
};

/// A model as a server holds it, with its weights still in the file (hold_if_room).
LoadedModel load_to_serve(const std::filesystem::path& folder);

/// Those that `heed models` finds and that can be loaded, by their names. Throws kInterrupted once
/// the client is gone.
std::vector<FoundModel> models_to_choose(const ClientWatch& client);

}  // namespace heed::serve
