#include "train/loss_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "heed/base/error.h"
#include "io/atomic_file.h"

namespace heed {
namespace {

constexpr std::string_view kHeader =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds\n";
constexpr std::string_view kHeaderWithAccuracy =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds,accuracy\n";

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

// 9 digits give an f32 back, 17 an f64; losses are f64.
std::string to_text(const LossRow& row, bool has_accuracy) {
  const std::string validation =
      row.validation_loss ? fmt::format("{:.17g}", *row.validation_loss) : std::string();
  const std::string accuracy = row.accuracy ? fmt::format("{:.6f}", *row.accuracy) : "";
  return fmt::format("{},{:.17g},{},{:.9g},{},{:.3f}{}{}\n", row.step, row.train_loss, validation,
                     row.learning_rate, row.tokens, row.seconds, has_accuracy ? "," : "", accuracy);
}

}  // namespace

LossCsv::LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy)
    : path_(std::move(path)), has_accuracy_(has_accuracy) {
  const std::string_view header = has_accuracy ? kHeaderWithAccuracy : kHeader;
  const std::string old = std::filesystem::exists(path_) ? read_file(path_) : std::string();
  const bool known = old.starts_with(header);
  const std::string_view kept = known ? kept_rows(old, step) : header;
  if (!known || kept.size() < old.size()) write_file(path_, kept);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail_writing(path_);
}

LossCsv::~LossCsv() { ::close(descriptor_); }

void LossCsv::append(const LossRow& row) {
  const std::string text = to_text(row, has_accuracy_);
  const ssize_t written = ::write(descriptor_, text.data(), text.size());
  if (written < 0) fail_writing(path_);
  if (static_cast<std::size_t>(written) == text.size()) return;
  errno = ENOSPC;  // a regular file takes a part only when there is no room for the rest
  fail_writing(path_);
}

void LossCsv::flush() {
  if (::fsync(descriptor_) != 0) fail_writing(path_);
}

}  // namespace heed
