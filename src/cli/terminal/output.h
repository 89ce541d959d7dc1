// Where a command's answer goes: stdout, or a file that appears whole or not at all; and the line
// of a command that fails.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/terminal/interrupt.h"
#include "heed/error.h"
#include "io/atomic_file.h"

namespace heed::cli {

/// Writes to stdout and flushes; kIo when the system refuses. Where the reader is gone, as with
/// `heed look ... | head`, the program ends by SIGPIPE.
void print(std::string_view text);

/// Writes to stderr, if it is still read.
void tell_text(const std::string& text);
template <typename... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  tell_text(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws where the file `out`, which `option` names, is the file `in`, which is read.
void refuse_overwrite(std::string_view option, const std::filesystem::path& out,
                      const std::filesystem::path& in);
/// Throws where the folder of `out` is not there: before anything is computed or written.
void require_folder_of(std::string_view option, const std::filesystem::path& out);

/// Takes bytes in pieces. A file appears only with `finish`. While it is open, Ctrl-C waits for the
/// next check, so that no part of a file is left.
class Output {
 public:
  /// Empty or "-": stdout.
  explicit Output(const std::string& path);

  void write(std::string_view bytes);
  void write(const void* data, std::size_t bytes);
  void finish();

 private:
  std::optional<InterruptScope> scope_;  // destroyed after the file
  std::unique_ptr<AtomicFile> file_;
};

/// 1 the work failed, 2 bad input, 130 after Ctrl-C.
int exit_status(ErrorCode code);

/// "heed train: ...", without an end; scripts read stderr by lines, so an error is one.
std::string error_line(std::string_view command, std::string message);

}  // namespace heed::cli
