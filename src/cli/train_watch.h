// heed train --watch: the page shows a fixed text while the model learns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "heed/models/registry.h"
#include "heed/train/train.h"
#include "serve/server.h"

namespace heed::cli {

struct WatchOptions {
  std::string text;  // that the page shows; "-": of stdin
  int port = 0;
  std::int64_t every = 0;  // steps from one model to the next; 0: a fiftieth of the run
};

/// Leaves the model of every so many steps in the run's folder, and serves the page on them from
/// the first one on.
class Watch : public TrainListener {
 public:
  /// What else hears of the run; it must outlive this.
  Watch(WatchOptions options, const std::filesystem::path& run, TrainListener& listener);

  void stepped(const TrainProgress& progress) override;
  void note(std::string_view text) override { listener_.note(text); }
  bool stop() override { return listener_.stop(); }

  /// After the run the page stays, until Ctrl-C.
  void stay();

 private:
  bool wants(const TrainProgress& progress) const;
  void serve(const std::filesystem::path& model);

  WatchOptions options_;
  std::filesystem::path folder_;
  TrainListener& listener_;
  std::optional<LoadedModel> first_;  // that the server begins with
  std::unique_ptr<Server> server_;
};

}  // namespace heed::cli
