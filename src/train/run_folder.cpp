#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {
namespace {

constexpr std::size_t kKeptCheckpoints = 2;

bool holds_run(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return false;
  for (const char* name : {"run.json", "loss.csv", "model"})
    if (std::filesystem::exists(folder / name)) return true;
  return !list_checkpoints(folder).empty();
}

void remove_partial_files(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) return;
  std::vector<std::filesystem::path> partial;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().find(".partial-") != std::string::npos)
      partial.push_back(entry.path());
  for (const auto& path : partial) std::filesystem::remove(path);
}

[[noreturn]] void refuse(const std::filesystem::path& folder, ErrorCode code, Phrase found,
                         Phrase expected = {}, Phrase hint = {}) {
  fail({.code = code,
        .op = "train",
        .file = folder.string(),
        .found = std::move(found),
        .expected = std::move(expected),
        .hint = std::move(hint)});
}

int lock_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    refuse(folder, ErrorCode::kIo, std::string("cannot be opened: ") + std::strerror(errno));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  refuse(folder, ErrorCode::kInvalidArgument, "another run is writing here");
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path, bool resume) : path_(std::move(path)) {
  if (path_.empty()) fail({.op = "train", .argument = "output", .expected = "a folder"});
  if (std::filesystem::is_regular_file(path_))
    refuse(path_, ErrorCode::kInvalidArgument, "is a file", "a folder");
  if (!resume && holds_run(path_))
    refuse(path_, ErrorCode::kInvalidArgument, "holds a run already", "",
           "continue it with --resume (in Python resume=True), or choose another folder");
  std::error_code error;
  for (auto missing = path_; !missing.empty() && !std::filesystem::exists(missing, error);
       missing = missing.parent_path())
    created_.push_back(missing);
  std::filesystem::create_directories(path_, error);
  if (error) refuse(path_, ErrorCode::kIo, "cannot be created: " + error.message());
  lock_ = lock_folder(path_);
  remove_partial_files(path_);
  remove_partial_files(model());
}

RunFolder::~RunFolder() {
  for (const auto& folder : created_)
    if (::rmdir(folder.c_str()) != 0) break;  // not empty: something was written
  ::close(lock_);
}

std::optional<RunFolder::Found> RunFolder::last_checkpoint(TrainListener& listener) const {
  const auto paths = list_checkpoints(path_);
  for (const auto& path : paths) {
    try {
      return Found{path, read_state(path)};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt || path == paths.back()) throw;
      listener.note(fmt::format("passes over a checkpoint: {}", error.what()));
    }
  }
  return std::nullopt;
}

void RunFolder::remove_old_checkpoints() const {
  const auto paths = list_checkpoints(path_);
  for (std::size_t i = kKeptCheckpoints; i < paths.size(); ++i) std::filesystem::remove(paths[i]);
}

namespace {

// Whether a step's rate does not depend on the total number of steps.
bool may_have_other_steps(const TrainConfig& config) {
  const bool falls_at_the_end = config.schedule == "cosine" || config.schedule == "linear";
  return !falls_at_the_end && config.decay == 0;
}

}  // namespace

void check_same_run(const TrainConfig& stored, const TrainConfig& wanted) {
  const JsonText before = JsonText::parse(to_json(stored), {.file = "run.json"});
  const JsonText now = JsonText::parse(to_json(wanted), {.file = "run.json"});
  for (const TrainKey& key : train_keys()) {
    const Json& was = before.root()[key.name];
    const Json& is = now.root()[key.name];
    if (key.name == "steps" && may_have_other_steps(stored)) continue;
    if (key.decides_losses && was != is)
      fail({.op = "train",
            .argument = key.name,
            .found = is.brief(),
            .expected = was.brief() + " as in the run to resume",
            .hint = key.name == "steps"
                        ? "only a schedule without a fall at the end can go on longer"
                        : ""});
  }
}

void tell_differences(const TrainState& before, const TrainState& now, TrainListener& listener) {
  if (before.cpu != now.cpu)
    listener.note(
        fmt::format("the run was on another CPU ({}, now {}): losses may differ in "
                    "their last digits",
                    before.cpu, now.cpu));
  if (before.threads != now.threads)
    listener.note(
        fmt::format("the run had {}, now {}: losses may differ in their last "
                    "digits",
                    number_of(before.threads, "thread"), now.threads));
  if (before.ranks != now.ranks)
    listener.note(
        fmt::format("the run had {} ranks, now {}: losses may differ in their last digits",
                    before.ranks, now.ranks));
}

TrainConfig stored_train_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "run.json";
  if (!std::filesystem::exists(path))
    refuse(folder, ErrorCode::kNotFound, "holds no run that could be resumed");
  return parse_train_config(read_file(path), path.string());
}

}  // namespace heed
