#include "cli/train_watch.h"

#include <chrono>
#include <thread>
#include <utility>

#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "serve/model_shelf.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kUsualModels = 50;  // at most, including the one after the first step

}  // namespace

Watch::Watch(WatchOptions options, const std::filesystem::path& run, TrainListener& listener)
    : options_(std::move(options)), folder_(run / "watch"), listener_(listener) {
  if (options_.text == "-") options_.text = read_text("-");
  require_utf8(options_.text);
  const auto steps = watched_steps(folder_);  // for a resumed run
  if (!steps.empty()) serve(watched_step(folder_, steps.front()));
}

bool Watch::wants(const TrainProgress& progress) const {
  const std::int64_t every =
      options_.every > 0 ? options_.every : (progress.steps + kUsualModels - 1) / kUsualModels;
  return progress.step == 1 || progress.step == progress.steps || progress.step % every == 0;
}

// A model appears complete or not at all.
void Watch::stepped(const TrainProgress& progress) {
  if (wants(progress)) {
    const std::filesystem::path folder = watched_step(folder_, progress.step);
    const std::filesystem::path partial = folder_ / "partial";
    std::filesystem::remove_all(partial);
    progress.save_model(partial);
    std::filesystem::remove_all(folder);
    std::filesystem::rename(partial, folder);
    if (!server_) serve(folder);
  }
  listener_.stepped(progress);
}

void Watch::serve(const std::filesystem::path& model) {
  first_.emplace(load_model(model, {.packed = true, .dtype = DType::kF32}));
  if (!first_->tokenizer)
    fail({.argument = "watch",
          .found = "a model without a tokenizer",
          .expected = "one with words"});
  server_ = std::make_unique<Server>(*first_, ServerOptions{.port = options_.port,
                                                            .token = server_token(false),
                                                            .text = options_.text,
                                                            .watched = folder_});
  listener_.note(server_->address());
}

void Watch::stay() {
  if (!server_) return;
  listener_.note("the page stays; Ctrl-C ends it");
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server_->stop();
}

}  // namespace heed::cli
