// A command's option as data: its name, its values and where they are stored. The format of a file
// that is written: --format, or the ending of the name after -o.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heed::cli {

/// Where values are stored. A vector takes several; a `bool` takes none and becomes true.
using Target =
    std::variant<std::string*, bool*, int*, std::int64_t*, std::uint32_t*, std::uint64_t*, double*,
                 std::optional<int>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::vector<std::string>*, std::vector<std::int32_t>*,
                 std::vector<std::int64_t>*, std::vector<double>*, std::function<void(int)>,
                 std::function<void(const std::string&)>>;

/// How the values of a vector are written.
enum class List {
  kByCommas,  // --ids 5,3,9; numbers may also be separated by spaces
  kRepeated,  // --stop a --stop b
  kInARow,    // --case a b
};

/// How many values a vector takes; `most` 0: any number.
struct Count {
  int least = 1;
  int most = 0;
};

struct Option {
  std::string name;       // "--top-k", "-o,--output"; without hyphens: positional
  Target to;              // must outlive parsing
  std::string type = {};  // in help and errors; empty: the words, or the target's type
  std::string help = {};
  std::string expects = {};                // description of a value in errors; empty: from the type
  std::vector<std::string> words = {};     // the only allowed values
  std::optional<std::int64_t> least = {};  // for whole numbers; absent: the type's limit
  std::optional<std::int64_t> most = {};
  List list = List::kByCommas;
  Count count = {};
  bool required = false;
  std::string needs = {};  // another option that must also be given
  std::string means = {};  // its meaning without a value: "--format=json" for --json
  std::vector<std::string_view> elsewhere = {};  // its names in other programs: "block_size"
  bool shows_default = false;                    // the help shows the target's value

  /// The name in errors: "--output" of "-o,--output".
  std::string long_name() const;
  /// The type in help and errors: "FILE", "first|last", "INT".
  std::string type_name() const;
  /// What a value is, in words for errors: "a file's name", "a whole number".
  std::string expected() const;
  bool is_positional() const { return !name.starts_with('-'); }
  bool takes_several() const;
};

using OptionList = std::vector<Option>;

/// Appends `more`.
void add(OptionList& list, std::initializer_list<Option> more);

/// Throws: the option's value is "found", in quotation marks, but `expected` was expected.
[[noreturn]] void refuse(const Option& option, std::string_view found, std::string_view expected);

/// Parses the option's values into its target. Errors name the option, what was found and what was
/// expected.
void read_values(const Option& option, const std::vector<std::string>& values);

/// The target's value in command-line syntax; empty if it has none.
std::string default_of(const Option& option);

/// The format, one of `known`, whose first is the default: `given` (--format), else from the ending
/// of `out` ("txt" is text), ignoring case. Throws if both are given and differ, and if `given` is
/// empty and the ending unknown: "a.jsn" must not contain text.
std::string format_of(const std::string& given, const std::string& out,
                      std::span<const char* const> known);

/// `--json`, short for `--format json`. `given` becomes true if it has a value, which is rejected.
Option json_option(bool& given);

/// `--format text|json` and `--json`, for a command that prints either. `of_json`: the JSON's
/// content.
void add_json_options(OptionList& list, bool& json, const std::string& of_json = "the same");

}  // namespace heed::cli
