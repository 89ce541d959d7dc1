#include "serve/model_shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/numbers.h"
#include "base/wording.h"
#include "inspect/answers/fields.h"
#include "inspect/session/session_input.h"
#include "inspect/session/session_memory.h"
#include "serve/route.h"

namespace heed {
namespace {

constexpr std::string_view kPrefix = "step-";

}  // namespace

std::filesystem::path watched_step(const std::filesystem::path& folder, std::int64_t step) {
  return folder / fmt::format("{}{}", kPrefix, step);
}

std::vector<std::int64_t> watched_steps(const std::filesystem::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    std::int64_t step = -1;
    if (name.starts_with(kPrefix) && read_number(name.substr(kPrefix.size()), step))
      steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

}  // namespace heed

namespace heed::serve {
namespace {

constexpr auto kBetweenShelfLooks = std::chrono::milliseconds(20);
constexpr std::size_t kMostLoaded = 2;  // besides the served one; sessions keep theirs

ModelPointer shelved(std::shared_ptr<const LoadedModel> model) {
  std::string identity = model_identity(*model);
  return std::make_shared<const ShelvedModel>(std::move(model), std::move(identity));
}

}  // namespace

LoadedModel load_to_serve(const std::filesystem::path& folder) {
  return load_model(folder,
                    {.packed = true, .dtype = DType::kF32, .in_memory = true, .streamed = true});
}

std::vector<FoundModel> models_to_choose(const ClientWatch& client) {
  std::vector<FoundModel> found = list_models();
  std::erase_if(found, [&](const FoundModel& model) {
    client.check();
    return !model.by_name || !why_not_loaded(model.folder).empty();
  });
  return found;
}

ModelShelf::ModelShelf(const LoadedModel* served, const ServerOptions& options,
                       const std::atomic<bool>& server_stops)
    : server_stops_(server_stops),
      watched_(options.watched),
      stream_(options.stream),
      memory_(options.memory) {
  if (served != nullptr) served_ = shelved({std::shared_ptr<void>(), served});
}

std::optional<std::vector<std::int64_t>> ModelShelf::steps() const {
  if (watched_.empty()) return std::nullopt;
  return watched_steps(watched_);
}

std::filesystem::path ModelShelf::folder_of(const std::string& name,
                                            const ClientWatch& client) const {
  if (!watched_.empty())
    for (const std::int64_t step : watched_steps(watched_))
      if (const auto folder = watched_step(watched_, step); folder.filename() == name)
        return folder;
  const std::vector<FoundModel> found = models_to_choose(client);
  const auto own = std::ranges::find(found, name, &FoundModel::name);
  if (own == found.end()) {
    std::vector<std::string> names = {served_->model->name};
    for (const FoundModel& model : found)
      if (model.name != names.front()) names.push_back(model.name);
    refuse(404, "not_found",
           {.argument = "model",
            .found = json_string(clipped(name, kMostShown)) + ", which this machine does not have",
            .expected = fmt::format("one of {}", joined(names, ", "))});
  }
  return own->folder;
}

ModelPointer ModelShelf::load(const std::string& name, const ClientWatch& client) const {
  auto model = std::make_shared<const LoadedModel>(load_to_serve(folder_of(name, client)));
  if (!stream_) hold_if_room(*model->model, memory_);
  if (!model->tokenizer)
    refuse_parameter("model", json_string(name) + " has no tokenizer", "a model with one");
  return shelved(std::move(model));
}

ModelPointer ModelShelf::find(const std::string& name) {
  if (name.empty() || served_ == nullptr || name == served_->model->name) return served_;
  const ClientWatch client(server_stops_);
  std::unique_lock lock(guard_, std::defer_lock);
  while (!lock.try_lock_for(kBetweenShelfLooks)) client.check();  // another request loads a model
  const auto is_named = [&](const ModelPointer& each) { return each->model->name == name; };
  const auto known = std::ranges::find_if(loaded_, is_named);
  if (known != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, known);
    return loaded_.front();
  }
  loaded_.push_front(load(name, client));
  if (loaded_.size() > kMostLoaded) loaded_.pop_back();
  return loaded_.front();
}

}  // namespace heed::serve
