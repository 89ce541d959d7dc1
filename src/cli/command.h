// A command of `heed`: one file per command, one line in the table of commands.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/options/arguments.h"

namespace heed::cli {

/// Does the work and returns the exit status: 0 success, 1 failure. Errors are thrown
/// (heed::Error); main prints them on one line and chooses the status.
using Run = std::function<int(const Given&)>;

struct Command {
  const char* name;
  const char* summary;  // one line of `heed --help`
  const char* example;  // complete lines at the end of `heed NAME --help`
  /// Declares the options. The returned function owns the variables they write to.
  Run (*declare)(OptionList& list);
};

/// Every command, in the order of `heed --help`.
std::span<const Command> commands();

/// `--threads N`, for commands that compute; takes effect while arguments are parsed.
Option threads_option();

/// `--kernel NAME`, for commands that run whole models: applies to every attention of the process.
Option kernel_option();

/// `--activations f32|q8`, for commands that run quantised models.
Option activations_option(bool& by_bytes);

/// `--model M`: a folder or a name; empty for the built-in model.
Option model_option(std::string& model);

/// Summary, usage, arguments, options and examples, in lines of at most 100 characters. The
/// options' targets must hold the defaults.
std::string help_of(const Command& command, const OptionList& options);

}  // namespace heed::cli
