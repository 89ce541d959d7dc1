// $HEED_MODELS, ./models, $HF_HOME/hub, the stores of Ollama, LM Studio and llama.cpp, then
// share/heed/models beside the program.
#include "models/search_path.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "io/gguf.h"

namespace heed {

std::vector<std::filesystem::path> gguf_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (is_gguf_name(entry.path()) &&
        !entry.path().filename().string().starts_with("mmproj"))  // an encoder of pictures
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool is_gguf_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (!name.ends_with(".gguf")) return false;
  constexpr std::string_view kPart = "-00001-of-00001.gguf";  // ending of a split file's part
  const std::size_t part = name.size() - std::min(name.size(), kPart.size());
  const bool is_part = name.size() > kPart.size() && name.substr(part + 6, 4) == "-of-";
  return (!is_part || name.substr(part, 6) == "-00001") && is_gguf(path);
}

namespace {

namespace fs = std::filesystem;

std::vector<FoundModel> find_folders(const fs::path& folder);
std::vector<FoundModel> find_in_hub(const fs::path& folder);
std::vector<FoundModel> find_in_ollama(const fs::path& folder);

struct Place {
  fs::path folder;
  std::vector<FoundModel> (*find)(const fs::path& folder) = find_folders;
  bool built_in = false;  // share/heed/models
};

struct BuiltIn {
  std::mutex guard;
  fs::path folder;  // empty: beside the program
};

BuiltIn& built_in_models() {
  static BuiltIn models;
  return models;
}

// The host's setting; else of an installation and of the build tree.
std::vector<Place> built_in_places() {
  {
    const std::scoped_lock lock(built_in_models().guard);
    if (const fs::path& folder = built_in_models().folder; !folder.empty())
      return {{.folder = folder, .built_in = true}};
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {{.folder = program.parent_path() / "share/heed/models", .built_in = true},
          {.folder = program / "share/heed/models", .built_in = true}};
}

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<Place> places() {
  std::vector<Place> all;
  if (const fs::path models = variable("HEED_MODELS"); !models.empty()) {
    std::error_code ignored;
    if (!fs::is_directory(models, ignored))
      fail({.code = ErrorCode::kNotFound,
            .argument = "$HEED_MODELS",
            .found = fmt::format("\"{}\", which is not a folder", models.string()),
            .expected = "a folder of model folders"});
    all.push_back({.folder = models});
  }
  all.push_back({.folder = "models"});
  const fs::path home = variable("HOME");
  const auto place = [&](const char* chosen, const fs::path& below, const fs::path& usual) {
    const fs::path folder = variable(chosen);
    return folder.empty() ? home / usual : folder / below;
  };
  all.push_back({.folder = place("HF_HOME", "hub", ".cache/huggingface/hub"), .find = find_in_hub});
  all.push_back({.folder = place("OLLAMA_MODELS", "", ".ollama/models"), .find = find_in_ollama});
  all.push_back({.folder = home / ".lmstudio/models"});
  all.push_back({.folder = place("LLAMA_CACHE", "", ".cache/llama.cpp")});
  std::ranges::copy(built_in_places(), std::back_inserter(all));
  return all;
}

// "models--openai-community--gpt2" becomes openai-community/gpt2.
std::string hub_name(const std::string& folder) {
  constexpr std::string_view kPrefix = "models--";
  if (!folder.starts_with(kPrefix)) return {};
  const std::string name = folder.substr(kPrefix.size());
  const auto dashes = name.find("--");
  if (dashes == std::string::npos) return name;
  return fmt::format("{}/{}", name.substr(0, dashes), name.substr(dashes + 2));
}

// A folder itself, the model of the training run in it, or its GGUF files, several under their own
// names; a GGUF file itself. Nothing for other paths.
std::vector<FoundModel> models_at(const std::string& name, const fs::path& path) {
  std::error_code ignored;
  if (is_gguf_name(path) || fs::exists(path / "config.json", ignored) ||
      fs::exists(path / "adapter_config.json", ignored))
    return {{.name = name, .folder = path}};
  if (fs::exists(path / "run.json", ignored) && fs::exists(path / "model/config.json", ignored))
    return {{.name = name, .folder = path / "model"}};
  std::vector<FoundModel> found;
  const std::vector<fs::path> files = gguf_files(path);
  for (const fs::path& file : files)
    found.push_back(
        {.name = files.size() == 1 ? name : name + "/" + file.filename().string(), .folder = file});
  return found;
}

void append(std::vector<FoundModel>& all, std::vector<FoundModel> more) {
  std::ranges::move(more, std::back_inserter(all));
}

// A folder that is not a model may hold the models of one owner: OWNER/NAME.
std::vector<FoundModel> find_folders(const fs::path& folder) {
  std::vector<FoundModel> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    std::vector<FoundModel> here = models_at(name, entry.path());
    if (here.empty())
      for (const auto& owned : fs::directory_iterator(entry.path(), ignored))
        append(here, models_at(name + "/" + owned.path().filename().string(), owned.path()));
    append(found, std::move(here));
  }
  return found;
}

// models--ORG--NAME/snapshots/REVISION, for the revision in refs/main, else any.
std::vector<FoundModel> find_in_hub(const fs::path& folder) {
  std::vector<FoundModel> found;
  std::error_code ignored;
  for (const auto& repository : fs::directory_iterator(folder, ignored)) {
    const std::string name = hub_name(repository.path().filename().string());
    if (name.empty()) continue;
    std::vector<fs::path> snapshots;
    try {
      std::string revision = read_file(repository.path() / "refs/main");
      revision.erase(revision.find_last_not_of(" \n\r") + 1);
      snapshots.push_back(repository.path() / "snapshots" / revision);
    } catch (const Error&) {  // any snapshot will do
    }
    for (const auto& entry : fs::directory_iterator(repository.path() / "snapshots", ignored))
      snapshots.push_back(entry.path());
    for (const fs::path& snapshot : snapshots)
      if (std::vector<FoundModel> here = models_at(name, snapshot); !here.empty()) {
        append(found, std::move(here));
        break;
      }
  }
  return found;
}

// manifests/HOST/OWNER/NAME/TAG is a JSON file whose layer of the type "...image.model" names the
// blob with the weights. Like Ollama, leaves out its own host and the owner "library". A manifest
// that cannot be read stands for its model, so that a list says what is wrong.
std::vector<FoundModel> find_in_ollama(const fs::path& folder) {
  std::vector<FoundModel> found;
  std::error_code ignored;
  const fs::path manifests = folder / "manifests";
  for (auto entry = fs::recursive_directory_iterator(manifests, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    const fs::path below = entry->path().lexically_relative(manifests);
    if (!entry->is_regular_file(ignored) || std::distance(below.begin(), below.end()) != 4)
      continue;
    const auto part = [&](int index) { return std::next(below.begin(), index)->string(); };
    const std::string host = part(0) == "registry.ollama.ai" ? "" : part(0) + "/";
    const std::string owner = host.empty() && part(1) == "library" ? "" : part(1) + "/";
    FoundModel model = {.name = fmt::format("ollama:{}{}{}:{}", host, owner, part(2), part(3)),
                        .folder = entry->path()};
    try {
      const JsonText manifest =
          JsonText::parse(read_file(entry->path()), {.file = entry->path().string()});
      for (const Json& layer : manifest.root()["layers"].items()) {
        const std::string* type = layer["mediaType"].as_text();
        const std::string* digest = layer["digest"].as_text();
        if (type == nullptr || digest == nullptr || !type->ends_with("image.model")) continue;
        std::string blob = *digest;
        std::ranges::replace(blob, ':', '-');
        if (blob.find('/') == std::string::npos) model.folder = folder / "blobs" / blob;
      }
    } catch (const Error&) {
    }
    found.push_back(std::move(model));
  }
  return found;
}

std::vector<FoundModel> models_in(const Place& place) {
  std::vector<FoundModel> found = place.find(place.folder);
  for (FoundModel& model : found) model.built_in = place.built_in;
  std::ranges::sort(found, {}, &FoundModel::name);
  return found;
}

ModelKind model_kind_of(const ModelInfo& info) {
  if (info.reads_source()) return ModelKind::kEncoderDecoder;
  return info.causal ? ModelKind::kDecoder : ModelKind::kEncoder;
}

// The first built-in model of the kind, else the first built-in model; empty if there is none.
fs::path built_in_model(ModelKind kind) {
  fs::path first;
  for (const Place& place : places()) {  // all places, so that a wrong $HEED_MODELS is named
    if (!place.built_in) continue;
    for (const FoundModel& model : models_in(place)) {
      const std::optional<ModelSummary> summary = describe_model(model.folder);
      if (summary && model_kind_of(summary->info) == kind) return model.folder;
      if (first.empty()) first = model.folder;
    }
  }
  return first;
}

// A name that may exist on the hub, such as `gpt2` or `owner/name`: the command that fetches it.
std::string way_to_fetch(std::string_view name) {
  const bool is_name = name.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
                           std::string_view::npos &&
                       std::ranges::count(name, '/') < 2 && !name.starts_with('/') &&
                       !name.starts_with('.') && !name.starts_with('-') && !name.ends_with(".gguf");
  return fmt::format("a model of the hub: hf download {}", is_name ? name : "OWNER/NAME");
}

// heed's own models; the Python package brings only the first of them.
constexpr std::string_view kOwnModels[] = {"tales", "masks", "enja"};

std::string way_to_have(std::string_view name, const std::vector<FoundModel>& models) {
  if (std::ranges::find(kOwnModels, name) == std::end(kOwnModels)) return way_to_fetch(name);
  std::vector<std::string> built_in;
  for (const FoundModel& model : models)
    if (model.built_in) built_in.push_back(model.name);
  return fmt::format("built in here: {}; {} is in the folder models of heed's source",
                     built_in.empty() ? "none" : joined(built_in, ", "), name);
}

std::string named_models(std::vector<std::string> names) {
  constexpr std::size_t kShown = 12;
  if (names.empty()) return "one of the known names (there is none)";
  if (names.size() <= kShown) return fmt::format("one of {}", joined(names, ", "));
  const std::size_t others = names.size() - kShown;
  names.resize(kShown);
  return fmt::format("one of {} and {} (`heed models` lists all)", joined(names, ", "),
                     number_of(others, "other"));
}

[[noreturn]] void fail_to_find(std::string_view name) {
  std::error_code ignored;
  std::vector<std::string> searched;  // without a name, the folders of built-in models
  for (const Place& place : places())
    if (name.empty() ? place.built_in : fs::exists(place.folder, ignored))
      searched.push_back(place.folder.string());
  std::vector<std::string> known;
  const std::vector<FoundModel> models = list_models();
  for (const FoundModel& model : models)
    if (model.by_name) known.push_back(model.name);
  std::string nearest;
  std::size_t least = name.size() / 3 + 2;  // letters that differ, less one
  for (const std::string& other : known)
    if (const std::size_t distance = edit_distance(other, name); distance < least) {
      nearest = fmt::format("the nearest is {}; ", other);
      least = distance;
    }
  const bool is_file = fs::exists(name, ignored);
  std::vector<std::string> files;  // of a folder with this name
  std::ranges::copy_if(known, std::back_inserter(files), [&](const std::string& other) {
    return other.starts_with(fmt::format("{}/", name));
  });
  if (name.empty())
    fail({.code = ErrorCode::kNotFound,
          .op = "model",
          .found = fmt::format(
              "none came with this program, looked in {}{}", joined(searched, " and "),
              known.empty() ? "" : fmt::format("; found elsewhere: {}", joined(known, ", "))),
          .hint = "name a model's folder, or a folder of models in $HEED_MODELS"});
  fail({.code = ErrorCode::kNotFound,
        .argument = "model",
        .found = fmt::format("'{}', {}", name,
                             is_file          ? "which is a file, but not in GGUF"
                             : !files.empty() ? "which has several models"
                                              : "neither a folder nor a known name"),
        .expected = files.empty() ? fmt::format("a model's folder, a GGUF file, or {}",
                                                named_models(std::move(known)))
                                  : fmt::format("one of {}", joined(files, ", ")),
        .hint =
            is_file || !files.empty()
                ? ""
                : nearest +
                      (searched.empty() ? ""
                                        : fmt::format("looked in {}; ", joined(searched, ", "))) +
                      way_to_have(name, models)});
}

}  // namespace

void set_built_in_models(const fs::path& folder) {
  const std::scoped_lock lock(built_in_models().guard);
  built_in_models().folder = folder;
}

bool is_built_in(const fs::path& folder) {
  const fs::path parent = fs::weakly_canonical(folder).parent_path();
  return std::ranges::any_of(built_in_places(), [&](const Place& place) {
    return fs::weakly_canonical(place.folder) == parent;
  });
}

std::vector<FoundModel> list_models() {
  std::vector<FoundModel> all;
  std::vector<fs::path> seen;  // a place may be a link to another
  for (const Place& place : places()) {
    for (FoundModel& model : models_in(place)) {
      const fs::path folder = fs::weakly_canonical(model.folder);
      if (std::ranges::find(seen, folder) != seen.end()) continue;
      seen.push_back(folder);
      model.built_in = is_built_in(model.folder);
      model.by_name = std::ranges::find(all, model.name, &FoundModel::name) == all.end();
      all.push_back(std::move(model));
    }
  }
  return all;
}

namespace {

// "ollama:NAME:TAG" for a blob in Ollama's store; empty for any other file.
std::string ollama_name(const fs::path& blob) {
  if (!blob.filename().string().starts_with("sha256-")) return {};
  for (const Place& place : places())
    if (place.find == find_in_ollama)
      for (FoundModel& model : models_in(place))
        if (fs::weakly_canonical(model.folder) == blob) return std::move(model.name);
  return {};
}

}  // namespace

std::string model_name(const fs::path& folder) {
  const fs::path whole = fs::weakly_canonical(folder);
  const fs::path parent = whole.parent_path();
  if (parent.filename() == "snapshots")
    if (std::string name = hub_name(parent.parent_path().filename().string()); !name.empty())
      return name;
  std::error_code ignored;
  if (std::string name = ollama_name(whole); !name.empty()) return name;
  const bool is_of_a_run = whole.filename() == "model" && fs::exists(parent / "run.json", ignored);
  return (is_of_a_run ? parent : whole).filename().string();
}

ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target) {
  if (has_target) return ModelKind::kEncoderDecoder;
  const bool has_gap = text.find("[MASK]") != std::string_view::npos;
  return has_pair || has_gap ? ModelKind::kEncoder : ModelKind::kDecoder;
}

namespace {

// Where the model is. An Ollama manifest may name a file that was never fetched, or is deleted.
const fs::path& present(const FoundModel& model, const Place& place) {
  std::error_code ignored;
  if (place.find == find_in_ollama && !fs::exists(model.folder, ignored))
    fail({.code = ErrorCode::kNotFound,
          .file = model.folder.string(),
          .found = "no such file",
          .expected = fmt::format("the weights that the manifest of {} names", model.name)});
  return model.folder;
}

}  // namespace

fs::path find_model(std::string_view name, ModelKind unnamed) {
  require_enumerator("model", "unnamed", unnamed, ModelKind::kEncoderDecoder);
  std::error_code ignored;
  if (name.empty()) {
    fs::path folder = built_in_model(unnamed);
    if (folder.empty()) fail_to_find(name);
    return folder;
  }
  if (is_gguf(name)) return name;
  if (fs::is_directory(name, ignored)) {
    const std::vector<FoundModel> found = models_at(std::string(name), name);
    return found.size() == 1 ? found.front().folder
                             : fs::path(name);  // load_model reports what is missing
  }
  const std::string latest = fmt::format("{}:latest", name);  // Ollama's tag if none is given
  std::vector<FoundModel> of_hub;                             // ORG/NAME for NAME
  for (const Place& place : places()) {
    for (const FoundModel& model : models_in(place)) {
      if (model.name == name) return present(model, place);
      if (place.find == find_in_ollama && model.name == latest) return present(model, place);
      if (place.find == find_in_hub && model.name.substr(model.name.find('/') + 1) == name)
        of_hub.push_back(model);
    }
  }
  if (of_hub.empty()) fail_to_find(name);
  if (of_hub.size() > 1)
    fail({.argument = "model",
          .found = fmt::format("'{}'", name),
          .expected =
              fmt::format("{} or {}, which both have this name", of_hub[0].name, of_hub[1].name)});
  return of_hub.front().folder;
}

}  // namespace heed
