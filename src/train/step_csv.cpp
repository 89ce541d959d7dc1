#include "train/step_csv.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "heed/error.h"
#include "io/atomic_file.h"

namespace heed {
namespace {

[[noreturn]] void fail_writing(const std::filesystem::path& path) {
  const std::string reason = std::strerror(errno);
  fail({.code = ErrorCode::kIo, .file = path.string(), .found = "cannot be written: " + reason});
}

// The whole rows of steps up to `step`, header included.
std::string_view kept_rows(std::string_view text, std::int64_t step) {
  std::size_t kept = text.find('\n') + 1;
  while (kept < text.size()) {
    const std::size_t end = text.find('\n', kept);
    std::int64_t row_step = -1;
    std::from_chars(text.data() + kept, text.data() + text.size(), row_step);
    if (end == std::string_view::npos || row_step < 1 || row_step > step) break;
    kept = end + 1;
  }
  return text.substr(0, kept);
}

}  // namespace

StepCsv::StepCsv(std::filesystem::path path, std::string_view header, std::int64_t step)
    : path_(std::move(path)) {
  const std::string old =
      std::filesystem::exists(path_) ? read_file(path_, most_data_bytes()) : std::string();
  const bool known = old.starts_with(header);
  const std::string_view kept = known ? kept_rows(old, step) : header;
  if (!known || kept.size() < old.size()) write_file(path_, kept);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail_writing(path_);
}

StepCsv::~StepCsv() { ::close(descriptor_); }

void StepCsv::append(std::string_view row) {
  const ssize_t written = ::write(descriptor_, row.data(), row.size());
  if (written < 0) fail_writing(path_);
  if (static_cast<std::size_t>(written) == row.size()) return;
  errno = ENOSPC;  // a regular file takes a part only when there is no room for the rest
  fail_writing(path_);
}

void StepCsv::flush() {
  if (::fsync(descriptor_) != 0) fail_writing(path_);
}

}  // namespace heed
