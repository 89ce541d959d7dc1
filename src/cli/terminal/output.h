// The destination of a command's output: stdout, or a file that appears complete or not at all; and
// the error line of a failed command. Ctrl-C ends the program at once with status 130; while an
// InterruptScope lives, it waits for the next check, so that unfinished work can be undone.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "heed/error.h"
#include "io/atomic_file.h"

namespace heed::cli {

inline constexpr int kInterruptedStatus = 130;

/// Installs the handler of SIGINT and SIGTERM.
void catch_interrupts();

/// While it lives, the first Ctrl-C only sets the flag (a second one ends the program). Scopes may
/// nest.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope& operator=(InterruptScope&&) = delete;
};

bool interrupted();
/// The flag itself, for work that polls it.
const std::atomic<bool>& interrupt_flag();

/// Throws kInterrupted if the flag is set.
void check_interrupted();

/// Writes to stdout and flushes; kIo if the system refuses. If the reader is gone, as with `heed
/// look ... | head`, SIGPIPE ends the program.
void print(std::string_view text);

/// Writes to stderr, if it still has a reader.
void tell_text(const std::string& text);
template <typename... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  tell_text(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws if the output file `out`, given by `option`, is the input file `in`.
void refuse_overwrite(std::string_view option, const std::filesystem::path& out,
                      const std::filesystem::path& in);
/// Throws if the folder of `out` does not exist, before anything is computed or written.
void require_folder_of(std::string_view option, const std::filesystem::path& out);

/// Reports a written file on stderr; stdout belongs to the answer.
void tell_of_file(const std::filesystem::path& path);

/// Accepts bytes in pieces. The file appears only after `finish`, which reports it. While it is
/// open, Ctrl-C waits for the next check, so that no partial file is left.
class Output {
 public:
  /// Empty or "-": stdout.
  explicit Output(const std::string& path);

  void write(std::string_view bytes);
  void write(const void* data, std::size_t bytes);
  void finish();

 private:
  std::string path_;
  std::optional<InterruptScope> scope_;  // destroyed after the file
  std::unique_ptr<AtomicFile> file_;
};

/// 1 the work failed, 2 bad input, 130 after Ctrl-C.
int exit_status(ErrorCode code);

/// "heed train: ...", without a line end, and always one line, because scripts read stderr by
/// lines.
std::string error_line(std::string_view command, std::string message);

}  // namespace heed::cli
