// The options of `heed look`, and the request that they, or a link of --view, stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/look/input.h"
#include "cli/options/arguments.h"
#include "heed/look.h"

namespace heed::cli {

struct LookOptions {
  LookInput input;
  MemoryOptions memory;
  bool text_given = false;
  std::string model;
  std::string stack;  // empty: the model's first one
  std::optional<int> layer, head;
  std::optional<int> layer_of_head;  // of --head L1.H3
  std::string who, to;
  std::string view;
  std::optional<std::string> heads;  // a filter
  std::string top;
  std::string rows;
  std::string units;  // empty: characters if most tokens are parts of some, else tokens
  std::string what = "weights";
  bool why = false;
  bool flow = false;
  std::string by = "rollout";
  std::string format;  // empty: from the file's name, else text
  bool json = false;   // --json, which becomes --format json
  std::string colour = "auto";
  std::string out;
  DType dtype = DType::kF32;
  int width = 1440;
  std::string theme = "light";
  std::optional<std::string> panel;  // none: the whole view

  /// The shown stack; kNotFound if the model does not have it.
  StackShape stack_of(const std::string& model_name, const ModelInfo& info) const;
  bool to_stdout() const { return out.empty() || out == "-"; }
  bool is_picture() const { return format == "svg" || format == "png"; }
  bool is_array() const { return format == "npy"; }
  bool is_graph() const { return format == "graphml" || format == "dot"; }
  bool is_page() const { return format == "svg" || format == "png" || format == "html"; }
};

/// Declares all options except those that every command with a model has.
void add_look_options(OptionList& list, LookOptions& options);

/// The format given by --format and the file name's ending, which must agree; default text.
std::string chosen_format(const LookOptions& options);

/// Rejects options that contradict each other or have no effect.
void check(const Given& given, const LookOptions& options);

/// The count of --top or --rows, or -1 for "all".
std::int64_t count_of(const char* option, const std::string& text);

/// The number of keys shown per row, or -1 for all.
std::int64_t top_of(const LookOptions& options);

/// If no option names a head, it is left open. For text output, a long text's rows are limited
/// unless the user gives a number. Errors name the option.
LookRequest request_of(const LookOptions& options, const Session& session, Stack stack);

/// Moves the model and text named in --view into the options, unless the command line gives them,
/// which is an error. Returns the second text, "" without one.
std::string take_link(LookOptions& options);

/// Sets a link's second text, as the second of a pair or as the target, depending on the model.
void take_second(LookOptions& options, const std::string& second, const ModelInfo& info);

}  // namespace heed::cli
