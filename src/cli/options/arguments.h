// The arguments of a command: parsed strictly; an error is one line with the option, what was found
// and what was expected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option.h"
#include "heed/error.h"

namespace heed::cli {

/// A command's options, and which of them were given.
class Given {
 public:
  /// In the order of the list.
  struct Entry {
    std::string name;  // "--output", "TEXT"
    bool given = false;
  };
  explicit Given(const OptionList& options);

  /// True if the option was given.
  bool has(std::string_view name) const;
  /// True if the command has the option.
  bool knows(std::string_view name) const;
  const std::vector<Entry>& entries() const { return entries_; }
  void mark(std::size_t index) { entries_[index].given = true; }
  /// Rejects options that were given but have no effect: "--width needs --format svg or png".
  void require_beside(std::initializer_list<std::string_view> names, bool has_effect,
                      std::string_view needed) const;
  /// Rejects options that were given beside `other`: "--cut cannot be used with --chat".
  void refuse_beside(std::initializer_list<std::string_view> names, std::string_view other) const;

 private:
  std::vector<Entry> entries_;
};

/// Parses the arguments into the options' targets and records in `given` which were given; false if
/// help is requested. An option whose value is not free text (type TEXT) may not be empty.
/// `command` is named in errors: "heed look".
bool read_arguments(const std::string& command, const OptionList& options,
                    std::vector<std::string> arguments, Given& given);

/// The error with its argument renamed to the option: `--top-p is 2` for `top_p`, `shape[2] of K is
/// 6` for `k.shape[2]`. An option has its argument's name with hyphens, except for the few in
/// option_names.cpp. Values not from the command line (a file's member, a default) keep the
/// library's name. The line begins with `command`, so an operation of that name is omitted.
Error in_options(const Given& given, std::string_view command, const Error& error);

}  // namespace heed::cli
