// heed convert: a model written again, in another type or as one file.
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "heed/base/error.h"
#include "heed/models/registry.h"
#include "models/companions.h"

namespace heed::cli {
namespace {

constexpr std::array<std::pair<const char*, DType>, 3> kTypes = {
    {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}}};

struct Options {
  std::string model;
  std::string out;
  std::string dtype = "f32";
};

// The folder that is written: new, or empty. Unless it is kept, what was written goes away again.
class NewFolder {
 public:
  explicit NewFolder(std::filesystem::path path)
      : path_(std::move(path)), was_there_(std::filesystem::exists(path_)) {
    const bool is_file = was_there_ && !std::filesystem::is_directory(path_);
    if (is_file || (was_there_ && !std::filesystem::is_empty(path_)))
      fail({.argument = "-o",
            .found = path_.string() + (is_file ? ", a file" : ", a folder with files in it"),
            .expected = "a new folder, or an empty one"});
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!kept_ && was_there_)
      for (const auto& entry : std::filesystem::directory_iterator(path_, ignored))
        std::filesystem::remove_all(entry.path(), ignored);
    else if (!kept_)
      std::filesystem::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool was_there_;
  bool kept_ = false;
};

int run(const Options& options) {
  NewFolder folder(options.out);
  const LoadedModel model = load_model(find_model(options.model));
  {
    const InterruptScope scope;
    for (const auto& [name, dtype] : kTypes)
      if (options.dtype == name) save_model(options.out, model, dtype);
    check_interrupted();
    folder.keep();
  }
  std::string said =
      fmt::format("{}: {} in {}\n", options.out, model.model->info().title, options.dtype);
  if (const std::vector<std::string> others = left_out(model.folder); !others.empty())
    said += fmt::format("left out: {}\n", fmt::join(others, ", "));
  print(said);
  return 0;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list, {{.name = "MODEL",
              .to = &options->model,
              .required = true,
              .help = "a model folder, or a name that heed models lists"},
             {.name = "-o,--out",
              .to = &options->out,
              .type = "DIR",
              .required = true,
              .help = "the folder to write: a new one, or an empty one"},
             {.name = "--dtype",
              .to = &options->dtype,
              .words = {"f32", "f16", "bf16"},
              .shows_default = true,
              .help = "how the weights are written"}});
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command convert_command() {
  return {"convert", "writes a model again, in another type or of shards as one file",
          "  heed convert tales --dtype f32 -o tales-f32\n"
          "  heed convert models/llama --dtype bf16 -o models/llama-bf16",
          declare};
}

}  // namespace heed::cli
