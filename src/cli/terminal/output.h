// Where a command's answer goes: stdout, or a file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/interrupt.h"
#include "io/atomic_file.h"

namespace heed::cli {

/// Writes to stdout and flushes; kIo when the system refuses.
void print(std::string_view text);

/// Takes bytes in pieces. `finish` makes a file appear; without it, it never existed. While a
/// file is open Ctrl-C waits for a check, so that nothing of it stays behind.
class Output {
 public:
  /// Empty or "-": stdout.
  explicit Output(const std::string& path);

  void write(std::string_view bytes);
  void write(const void* data, std::size_t bytes);
  void finish();

 private:
  std::optional<InterruptScope> scope_;  // of the file; declared before it: gone after it
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace heed::cli
