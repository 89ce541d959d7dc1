// What a command of `heed` is: one file a command, one line in the table of commands.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/options/arguments.h"

namespace heed::cli {

/// Does the work and returns the exit status: 0 done, 1 the work failed. Errors are thrown
/// (heed::Error); main turns them into one line and a status.
using Run = std::function<int(const Given&)>;

struct Command {
  const char* name;
  const char* summary;  // one line in `heed --help`
  const char* example;  // whole lines below `heed NAME --help`
  /// Declares the options. The returned function owns the variables that they write to.
  Run (*declare)(OptionList& list);
};

/// Every command, in the order in which `heed --help` lists them.
std::span<const Command> commands();

/// `--threads N`, for commands that compute; takes effect while the arguments are read.
Option threads_option();

/// `--kernel NAME`, for commands that run whole models: every attention of the process uses it.
Option kernel_option();

/// `--model M`: a folder or a name; empty for the built-in model.
Option model_option(std::string& model);

/// Summary, usage, arguments, options and examples, in lines of at most 100 characters. The targets
/// of the options hold the defaults.
std::string help_of(const Command& command, const OptionList& options);

}  // namespace heed::cli
