// heed train --watch: the page shows a fixed text while the model learns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "heed/model.h"
#include "heed/train.h"
#include "serve/server.h"

namespace heed::cli {

struct WatchOptions {
  std::string text;  // shown by the page; "-": from stdin
  int port = 0;
  std::int64_t every = 0;  // steps between models; 0: a fiftieth of the run
};

/// Saves the model every few steps in the run's folder, and serves the page for them from the first
/// one on.
class Watch : public TrainListener {
 public:
  /// Forwards to another listener, which must outlive it.
  Watch(WatchOptions options, const std::filesystem::path& run, TrainListener& listener);

  void stepped(const TrainProgress& progress) override;
  void note(std::string_view text) override { listener_.note(text); }
  bool stop() override { return listener_.stop(); }

  /// Keeps serving the page after the run, until Ctrl-C.
  void stay();

 private:
  bool wants(const TrainProgress& progress) const;
  void serve(const std::filesystem::path& model);

  WatchOptions options_;
  std::filesystem::path folder_;
  TrainListener& listener_;
  std::optional<LoadedModel> first_;  // initially served
  std::unique_ptr<Server> server_;
};

}  // namespace heed::cli
