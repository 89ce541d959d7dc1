// The options of `heed generate`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/arguments.h"
#include "heed/generate.h"
#include "heed/model.h"

namespace heed::cli {

struct GenerateOptions {
  std::vector<std::string> prompts;
  std::string file;
  std::vector<TokenId> ids;
  std::string model;
  bool chat = false;
  std::optional<std::string> system;  // with `chat`: precedes the user's message
  GenerateArgs args;
  std::optional<std::int64_t> top_k;
  std::optional<DType> dtype;  // default: the file's
  bool byte_activations = false;
  bool json = false;
  bool no_crop = false;
};

void add_generate_options(OptionList& list, GenerateOptions& options);

/// Throws if there is no prompt, or a number is out of range.
void check(const Given& given, const GenerateOptions& options);

/// Lets the arguments follow the folder's generation_config.json, except those on the command line,
/// and reports on stderr which of its keys are ignored. Then rejects options that have no effect.
GenerationConfig follow_folder(const std::filesystem::path& folder, const Given& given,
                               GenerateOptions& options);

/// One of each per prompt.
struct Prompts {
  std::vector<std::string> texts;  // the model's input
  std::vector<std::string> shown;  // printed before the answer; empty for a chat or a source
};

/// Reads the file and standard input into `options.prompts`.
void read_inputs(GenerateOptions& options);

/// Sets the prompts of `options.args`, or its sources, and reports on stderr what the tokenizer
/// loses and which special tokens a chat template has added.
Prompts read_prompts(const LoadedModel& model, GenerateOptions& options);

}  // namespace heed::cli
