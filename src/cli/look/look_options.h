// What `heed look` is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/look/input.h"
#include "cli/look/memory.h"
#include "cli/options/arguments.h"

namespace heed::cli {

struct LookOptions {
  LookInput input;
  MemoryOptions memory;
  bool text_given = false;
  std::string model;
  std::string stack;  // empty: the model's first one
  std::optional<int> layer, head;
  std::string who, to;
  std::string view;
  std::optional<std::string> heads;  // a filter
  std::string top;
  std::string rows;
  std::string units;  // empty: characters where most tokens are parts of some, else tokens
  std::string what = "weights";
  bool why = false;
  bool flow = false;
  std::string by = "rollout";
  std::string format;  // empty: as the name of the file says, else text
  bool json = false;   // of --json, which becomes --format json
  std::string colour = "auto";
  std::string out;
  DType dtype = DType::kF32;
  int width = 1440;
  std::string theme = "light";
  std::string panel;  // empty: all of the view

  /// The stack that is shown; kNotFound where the model has no such.
  StackShape stack_of(const std::string& model_name, const ModelInfo& info) const;
  bool asks_for_column() const { return who.empty() && !to.empty(); }
  bool to_stdout() const { return out.empty() || out == "-"; }
  bool is_picture() const { return format == "svg" || format == "png"; }
  bool is_array() const { return format == "npy"; }
  bool is_graph() const { return format == "graphml" || format == "dot"; }
  bool is_page() const { return format == "svg" || format == "png" || format == "html"; }
};

/// Declares everything but the options that all commands on models have.
void add_look_options(OptionList& list, LookOptions& options);

/// The format that --format and the ending of the file's name agree on, else text.
std::string chosen_format(const LookOptions& options);

/// Refuses what contradicts itself or would change nothing.
void check(const Given& given, const LookOptions& options);

/// The count of --top or --rows, or -1 for "all".
std::int64_t count_of(const char* option, const std::string& text);

/// How many keys of a row are shown, or -1 for all.
std::int64_t top_of(const LookOptions& options);

}  // namespace heed::cli
