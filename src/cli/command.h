// What a command of `heed` is: one file a command, one line in the table of commands.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>

namespace heed::cli {

/// Does the work and returns the exit status: 0 done, 1 the work failed. Errors are thrown
/// (heed::Error); main turns them into one line and a status.
using Run = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;  // one line in `heed --help`
  const char* example;  // whole lines below `heed NAME --help`
  /// Declares the options on `app`; what they are bound to lives in the function returned.
  Run (*add)(CLI::App& app);
};

/// Every command, in the order in which `heed --help` lists them.
std::span<const Command> commands();

/// `--threads N`, for commands that compute; takes effect while the arguments are read.
void add_threads(CLI::App& app);

/// `--kernel NAME`, for commands that run whole models: every attention of the process uses it.
void add_kernel(CLI::App& app);

/// `--model M`: a folder or a name; empty for the built-in model.
void add_model(CLI::App& app, std::string& model);

}  // namespace heed::cli
