// The arguments of a command: read strictly, refused in one line that names the option, what was
// found and what was expected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option.h"

namespace heed::cli {

/// Which options a command has, and which of them were given.
class Given {
 public:
  /// In the order of the list.
  struct Entry {
    std::string name;  // "--output", "TEXT"
    bool given = false;
  };
  explicit Given(const OptionList& options);

  /// True when the option was given.
  bool has(std::string_view name) const;
  /// True when the command has the option.
  bool knows(std::string_view name) const;
  const std::vector<Entry>& entries() const { return entries_; }
  void mark(std::size_t index) { entries_[index].given = true; }
  /// Refuses an option that was given and changes nothing: "--width needs --format
  /// svg or png".
  void require_beside(std::string_view name, bool has_effect, std::string_view needed) const;

 private:
  std::vector<Entry> entries_;
};

/// Reads the arguments into the targets of the options and marks in `given` what there was; false
/// when the help is asked for. An option whose value is not a text (type TEXT) may not be empty.
/// `command` is named in errors: "heed look".
bool read_arguments(const std::string& command, const OptionList& options,
                    std::vector<std::string> arguments, Given& given);

}  // namespace heed::cli
