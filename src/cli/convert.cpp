// heed convert: saves a model with another type, in one file, or converts from or to GGUF.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wording.h"
#include "cli/command.h"
#include "cli/terminal/output.h"
#include "heed/error.h"
#include "heed/model.h"
#include "models/gguf_save.h"
#include "models/search_path.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

struct ConvertOptions {
  std::string model;
  std::string out;
  std::string type = "f32";

  bool to_gguf() const { return out.ends_with(".gguf"); }
};

// The output folder: new, or empty. Removes what was written unless it is kept.
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
  NewFolder& operator=(NewFolder&&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool was_there_;
  bool kept_ = false;
};

// `h.0.attn.bias` and `h.1.attn.bias` become `h.*.attn.bias (2)`.
std::vector<std::string> by_layer(const std::vector<std::string>& tensors) {
  std::map<std::string, int> counts;
  for (const std::string& name : tensors) {
    std::string pattern;
    for (std::size_t at = 0, end = 0; at < name.size(); at = end + 1) {
      end = std::min(name.find('.', at), name.size());
      const std::string part = name.substr(at, end - at);
      const bool is_number = part.find_first_not_of("0123456789") == std::string::npos;
      pattern += (pattern.empty() ? "" : ".") + (is_number ? "*" : part);
    }
    ++counts[pattern];
  }
  std::vector<std::string> patterns;
  for (const auto& [pattern, count] : counts)
    patterns.push_back(count == 1 && pattern.find('*') == std::string::npos
                           ? pattern
                           : fmt::format("{} ({})", pattern, count));
  return patterns;
}

// Numbers that are NaN in the file, or too large for the written type.
std::vector<std::string> not_finite(const Model& model, DType dtype) {
  constexpr float kLargestF16 = 65519;  // rounds to 65504
  const float largest = dtype == DType::kF16 ? kLargestF16 : std::numeric_limits<float>::max();
  std::vector<std::string> names;
  for (const Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value;
    const auto count = std::ranges::count_if(
        std::span(value.data<float>(), static_cast<std::size_t>(value.element_count())),
        [&](float number) { return !(std::abs(number) <= largest); });
    if (count > 0) names.push_back(fmt::format("{} ({})", parameter->name, count));
  }
  return names;
}

void refuse_own_folder(const std::filesystem::path& model, const std::string& out) {
  std::error_code is_absent;
  if (std::filesystem::equivalent(model, out, is_absent) && !is_absent)
    fail({.argument = "-o",
          .found = out + ", the folder of the model that is read",
          .expected = "a new folder, or an empty one"});
}

// `omitted`: the parameters of the model that the file has no place for.
std::string report(const ConvertOptions& options, const LoadedModel& model,
                   std::vector<std::string> omitted) {
  std::string said =
      fmt::format("{}: {} in {}\n", options.out, model.model->info().title, options.type);
  if (!options.to_gguf()) {
    if (const std::vector<std::string> others = left_out(model.folder); !others.empty())
      said += fmt::format("left out: {}\n", joined(others, ", "));
  }
  omitted.insert(omitted.end(), model.unread.begin(), model.unread.end());
  if (!omitted.empty())
    said += fmt::format("left out tensors: {}\n", joined(by_layer(omitted), ", "));
  return said;
}

GgufSaved write_file_of(const ConvertOptions& options, const LoadedModel& model) {
  if (std::filesystem::exists(options.out))
    fail({.argument = "-o", .found = options.out + ", which is there", .expected = "a new file"});
  std::string type = options.type;
  std::ranges::transform(type, type.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
  });
  return save_gguf(options.out, model, type);
}

void write_folder_of(const ConvertOptions& options, const LoadedModel& model, NewFolder& folder) {
  const InterruptScope scope;
  save_model(options.out, model, dtype_named(options.type));
  check_interrupted();
  folder.keep();
}

int run(const ConvertOptions& options) {
  if (options.type.starts_with('q') && !options.to_gguf())
    fail({.argument = "--dtype",
          .found = options.type,
          .expected = "f32, f16 or bf16, unless -o ends in .gguf"});
  const std::filesystem::path from = find_model(options.model);
  refuse_own_folder(from, options.out);
  std::optional<NewFolder> folder;
  if (!options.to_gguf()) folder.emplace(options.out);
  const LoadedModel model = load_model(from);
  GgufSaved saved;
  if (folder) {
    write_folder_of(options, model, *folder);
    saved.not_finite = not_finite(*model.model, dtype_named(options.type));
  } else {
    saved = write_file_of(options, model);
  }
  if (!saved.not_finite.empty())
    tell("heed convert: numbers that are not finite in {}: {}\n", options.type,
         joined(saved.not_finite, ", "));
  print(report(options, model, std::move(saved.omitted)));
  return 0;
}

constexpr const char* kOut = "a folder's name, or FILE.gguf";

Run declare_convert(OptionList& list) {
  const auto options = std::make_shared<ConvertOptions>();
  add(list,
      {{.name = "MODEL",
        .to = &options->model,
        .help = "a model folder, a GGUF file, or a name that heed models lists",
        .expects = "a model's folder or name",
        .required = true},
       {.name = "OUT",
        .to = &options->out,
        .help = "the folder to write: a new one, or an empty one; or a new file that ends in .gguf",
        .expects = kOut},
       {.name = "-o,--out",
        .to = &options->out,
        .type = "OUT",
        .help = "the same as OUT",
        .expects = kOut},
       {.name = "--dtype",
        .to = &options->type,
        .help = "how the weights are written; q8_0 and q4_0 in GGUF alone (default: f32)",
        .words = {"f32", "f16", "bf16", "q8_0", "q4_0"}}});
  return [options](const Given& given) {
    if (given.has("OUT") == given.has("--out"))
      fail({.argument = "-o/--out",
            .found = given.has("OUT") ? "given beside OUT" : "missing",
            .expected = given.has("OUT") ? "one of both" : kOut});
    return run(*options);
  };
}

}  // namespace

Command convert_command() {
  return {"convert", "writes a model as a folder or as a GGUF file, in another type",
          "  heed convert tales tales-f32\n"
          "  heed convert tales tales-q8_0.gguf --dtype q8_0\n"
          "  heed convert models/llama.gguf models/llama-bf16 --dtype bf16",
          declare_convert};
}

}  // namespace heed::cli
