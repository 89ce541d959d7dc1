#include "heed/train.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/wording.h"
#include "heed/error.h"
#include "io/atomic_file.h"
#include "ops/matmul.h"
#include "train/initial_weights.h"
#include "train/peers.h"
#include "train/run_folder.h"
#include "train/training.h"

namespace heed {
namespace {

// If several processes train together, only the first calls the listener; each may be asked to
// stop.
class FirstSpeaks : public TrainListener {
 public:
  FirstSpeaks(const Peers& peers, TrainListener& listener)
      : speaks_(peers.is_first()), listener_(listener) {}
  void stepped(const TrainProgress& progress) override {
    if (speaks_) listener_.stepped(progress);
  }
  void note(std::string_view text) override {
    if (speaks_) listener_.note(text);
  }
  bool stop() override { return listener_.stop(); }

 private:
  bool speaks_;
  TrainListener& listener_;
};

void check_ranks(const TrainArgs& args, const Peers& peers) {
  const TrainConfig& config = args.config;
  if (args.batches != nullptr && peers.count() > 1)
    fail("train", "batches", fmt::format("given on {} ranks", peers.count()), "one process");
  if (config.batch * config.accumulate < peers.count())
    fail(
        {.op = "train",
         .argument = "batch",
         .found = fmt::format("{} a step", number_of(config.batch * config.accumulate, "sequence")),
         .expected = fmt::format("at least {}, one for each rank", peers.count())});
}

// The checkpoint to continue from, if it is from the same run.
std::optional<RunFolder::Found> find_checkpoint(const TrainArgs& args, const RunFolder& folder,
                                                TrainListener& listener) {
  const auto found = folder.last_checkpoint(listener);
  if (found) {
    check_same_run(parse_train_config(found->state.config, found->path.string()), args.config);
  } else if (std::filesystem::exists(folder.config())) {
    check_same_run(stored_train_config(folder.path()), args.config);
    listener.note(
        "no checkpoint yet: starting again from step 0 (another configuration needs another "
        "folder, or this one removed)");
  } else if (args.resume) {
    listener.note(fmt::format("{} holds no run yet: begins one", folder.path().string()));
  }
  if (args.config.epochs == 0 && args.config.warmup >= args.config.steps)
    listener.note(fmt::format("warmup ({}) is not below steps ({}): the learning rate never falls",
                              args.config.warmup, args.config.steps));
  if (args.config.precision == "bf16" && !bf16_pays())
    listener.note("this CPU multiplies bf16 no faster than f32: products stay f32");
  return found;
}

}  // namespace

TrainResult train(const TrainArgs& asked, TrainListener& given) {
  const Peers peers(asked.ranks);
  TrainArgs args = asked;
  FirstSpeaks listener(peers, given);
  std::optional<RunFolder> folder;
  std::optional<RunFolder::Found> found;
  std::unique_ptr<Training> training;
  peers.together([&] {
    check(args.config, args.batches != nullptr);
    args.config = settled(args.config);
    check_ranks(args, peers);
    if (!peers.is_first()) return;
    folder.emplace(args.folder, args.resume);
    found = find_checkpoint(args, *folder, listener);
  });
  peers.together([&] {
    training = std::make_unique<Training>(args, peers, folder ? &*folder : nullptr, listener);
  });
  training->require_alike();
  training->go_on_from(found);
  peers.together([&] {
    if (folder) write_file(folder->config(), to_json(args.config));  // not if the run is refused
  });
  return training->run();
}

}  // namespace heed
