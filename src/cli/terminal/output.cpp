#include "cli/terminal/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace heed::cli {
namespace {

[[noreturn]] void fail_of_stdout() {
  if (errno == EPIPE) {  // the signal is ignored if this process serves pictures
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  fail({.code = ErrorCode::kIo, .file = "standard output", .found = std::strerror(errno)});
}

void write_stdout(const void* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) fail_of_stdout();
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) fail_of_stdout();
}

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // set by the handler
volatile std::sig_atomic_t deferred = 0;

extern "C" void on_interrupt(int) {
  if (deferred == 0 || flag) _exit(kInterruptedStatus);
  flag = true;
}

}  // namespace

void print(std::string_view text) {
  write_stdout(text.data(), text.size());
  flush_stdout();
}

void tell_text(const std::string& text) { std::fputs(text.c_str(), stderr); }

void refuse_overwrite(std::string_view option, const std::filesystem::path& out,
                      const std::filesystem::path& in) {
  std::error_code is_absent;
  if (std::filesystem::equivalent(out, in, is_absent) && !is_absent)
    fail({.argument = option,
          .found = out.string() + ", which is read",
          .expected = "another file"});
}

void require_folder_of(std::string_view option, const std::filesystem::path& out) {
  const std::filesystem::path folder = out.parent_path();
  std::error_code is_absent;
  if (folder.empty() || std::filesystem::is_directory(folder, is_absent)) return;
  fail({.argument = option,
        .found = out.string(),
        .expected = "a file in an existing folder",
        .hint = fmt::format("folder {} does not exist", folder.string())});
}

void tell_of_file(const std::filesystem::path& path) { tell("heed: wrote {}\n", path.string()); }

Output::Output(const std::string& path) : path_(path) {
  if (path.empty() || path == "-") return;
  scope_.emplace();
  file_ = std::make_unique<AtomicFile>(path);
}

void Output::write(std::string_view bytes) { write(bytes.data(), bytes.size()); }

void Output::write(const void* data, std::size_t bytes) {
  if (file_) {
    file_->write(data, bytes);
  } else {
    write_stdout(data, bytes);
  }
}

void Output::finish() {
  if (file_) {
    file_->commit();
    tell_of_file(path_);
  } else {
    flush_stdout();
  }
}

int exit_status(ErrorCode code) {
  constexpr int kWorkFailed = 1;
  constexpr int kBadInput = 2;
  if (code == ErrorCode::kInterrupted) return kInterruptedStatus;
  return code == ErrorCode::kIo || code == ErrorCode::kFailed ? kWorkFailed : kBadInput;
}

std::string error_line(std::string_view command, std::string message) {
  std::ranges::replace(message, '\n', ' ');
  return fmt::format("heed{}{}: {}", command.empty() ? "" : " ", command, message);
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptScope::InterruptScope() { deferred = deferred + 1; }
InterruptScope::~InterruptScope() { deferred = deferred - 1; }

const std::atomic<bool>& interrupt_flag() { return flag; }
bool interrupted() { return flag; }

void check_interrupted() {
  if (interrupted()) fail({.code = ErrorCode::kInterrupted, .found = "interrupted"});
}

}  // namespace heed::cli
