#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "io/atomic_file.h"
#include "train/run_files.h"

namespace heed {
namespace {

[[noreturn]] void fail_writing(const std::filesystem::path& path) {
  const std::string reason = std::strerror(errno);
  fail({.code = ErrorCode::kIo, .file = path.string(), .found = "cannot be written: " + reason});
}

// The complete rows of steps up to `step`, with the header.
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
  errno = ENOSPC;  // a regular file accepts only a part if there is no room for the rest
  fail_writing(path_);
}

void StepCsv::flush() {
  if (::fsync(descriptor_) != 0) fail_writing(path_);
}

namespace {

constexpr std::string_view kHeader =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds\n";
constexpr std::string_view kHeaderWithAccuracy =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds,accuracy\n";

// 9 digits restore an f32, 17 an f64; losses are f64.
std::string to_text(const LossRow& row, bool has_accuracy) {
  const std::string validation =
      row.validation_loss ? fmt::format("{:.17g}", *row.validation_loss) : std::string();
  const std::string accuracy = row.accuracy ? fmt::format("{:.6f}", *row.accuracy) : "";
  return fmt::format("{},{:.17g},{},{:.9g},{},{:.3f}{}{}\n", row.step, row.train_loss, validation,
                     row.learning_rate, row.tokens, row.seconds, has_accuracy ? "," : "", accuracy);
}

}  // namespace

LossCsv::LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy)
    : csv_(std::move(path), has_accuracy ? kHeaderWithAccuracy : kHeader, step),
      has_accuracy_(has_accuracy) {}

void LossCsv::append(const LossRow& row) { csv_.append(to_text(row, has_accuracy_)); }

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> parts_of(std::span<const Parameter* const> parameters) {
  std::vector<std::string> parts;
  for (const Parameter* parameter : parameters)
    if (std::string part = part_of_model(parameter->name);
        std::ranges::find(parts, part) == parts.end())
      parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::string part_of_model(std::string_view parameter) {
  for (std::size_t begin = 0; begin < parameter.size();) {
    const std::size_t end = std::min(parameter.find('.', begin), parameter.size());
    if (is_number(parameter.substr(begin, end - begin)))
      return std::string(parameter.substr(0, end));
    begin = end + 1;
  }
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

GradientNorms::GradientNorms(std::filesystem::path path, std::int64_t step,
                             std::span<const Parameter* const> parameters)
    : parts_(parts_of(parameters)),
      sums_(parts_.size()),
      csv_(std::move(path), fmt::format("step,all,{}\n", joined(parts_, ",")), step) {
  for (const Parameter* parameter : parameters)
    part_of_.push_back(static_cast<std::size_t>(
        std::ranges::find(parts_, part_of_model(parameter->name)) - parts_.begin()));
}

void GradientNorms::append(std::int64_t step, std::span<const double> squares) {
  std::ranges::fill(sums_, 0);
  double all = 0;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    sums_[part_of_[i]] += squares[i];
    all += squares[i];
  }
  std::string row = fmt::format("{},{:.6g}", step, std::sqrt(all));
  for (const double sum : sums_) row += fmt::format(",{:.6g}", std::sqrt(sum));
  csv_.append(row + "\n");
}

}  // namespace heed
