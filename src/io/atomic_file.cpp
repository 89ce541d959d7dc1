#include "io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "heed/error.h"

namespace heed {
namespace {

[[noreturn]] void fail_writing(const std::filesystem::path& path) {
  const std::string reason = last_system_error();
  fail({.code = ErrorCode::kIo, .file = path.string(), .found = "cannot be written: " + reason});
}

// Devices and pipes (`-o /dev/stdout`) are written in place: a rename would replace them.
bool is_device_or_pipe(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Without this, a power failure may lose the new name although the content is on disk.
void flush_folder(const std::filesystem::path& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_writing(path);
  const bool flushed = ::fsync(folder) == 0 || errno == EINVAL;  // not on every file system
  const int reason = errno;
  ::close(folder);
  errno = reason;
  if (!flushed) fail_writing(path);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
  if (std::error_code ignored;
      !path_.has_filename() || std::filesystem::is_directory(path_, ignored))
    fail({.file = path_.string(), .found = "is a folder", .expected = "a file's name"});
  if (!is_device_or_pipe(path_)) partial_ += fmt::format(".partial-{}", ::getpid());
  // O_NONBLOCK: opening a pipe without a reader fails at once (ENXIO) instead of waiting for a
  // reader.
  descriptor_ =
      ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0 && errno == ENXIO)
    fail({.code = ErrorCode::kIo,
          .file = path_.string(),
          .found = "cannot be written: no program reads this pipe"});
  if (descriptor_ < 0 || ::fcntl(descriptor_, F_SETFL, 0) != 0) fail_writing(path_);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (partial_ != path_) ::unlink(partial_.c_str());
}

void AtomicFile::give_up() {
  const int reason = errno;
  discard();
  errno = reason;
  fail_writing(path_);
}

void AtomicFile::check_open() const {
  if (descriptor_ < 0)
    fail({.file = path_.string(), .found = "is written already or was given up"});
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  constexpr std::size_t kOneCall = std::size_t{1} << 30;  // Linux writes less than 2 GiB per call
  check_open();
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, from, std::min(bytes, kOneCall));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up();
    from += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void AtomicFile::commit() {
  check_open();
  const bool in_place = partial_ == path_;
  if (!in_place && ::fsync(descriptor_) != 0) give_up();
  if (!in_place && ::rename(partial_.c_str(), path_.c_str()) != 0) give_up();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_writing(path_);
  if (!in_place) flush_folder(path_);
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_elements(AtomicFile& file, const ConstView& view, DType dtype) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  if (view.element_count() == 0) return;
  const auto count = static_cast<std::size_t>(view.element_count());
  if (view.dtype() == dtype && view.is_contiguous()) {
    file.write(view.raw(), count * size_bytes(dtype));
  } else if (count * sizeof(double) <= kPieceBytes) {
    const Tensor piece = Tensor::converted(view, dtype);
    file.write(piece.view().raw(), count * size_bytes(dtype));
  } else if (view.dim(0) == 1) {
    write_elements(file, view.select(0, 0), dtype);
  } else {
    const std::int64_t middle = view.dim(0) / 2;
    write_elements(file, view.slice(0, 0, middle), dtype);
    write_elements(file, view.slice(0, middle, view.dim(0)), dtype);
  }
}

}  // namespace heed
