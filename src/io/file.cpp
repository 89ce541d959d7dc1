#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "heed/base/error.h"

namespace heed {

std::string last_system_error() { return std::generic_category().message(errno); }

namespace {

[[noreturn]] void fail_to(std::string_view what, const std::filesystem::path& path,
                          ErrorCode code = ErrorCode::kIo) {
  const std::string reason = last_system_error();
  fail({.code = code, .file = path.string(), .found = fmt::format("cannot {}: {}", what, reason)});
}

}  // namespace

InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ >= 0) {
    refuse_folder();
    return;
  }
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  fail_to("be opened", path_, absent ? ErrorCode::kNotFound : ErrorCode::kIo);
}

// Or reading it would be called an error of the system.
void InputFile::refuse_folder() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISDIR(status.st_mode)) return;
  ::close(descriptor_);
  fail({.code = ErrorCode::kCorrupt,
        .file = path_.string(),
        .found = "a folder",
        .expected = "a file"});
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(void* data, std::size_t bytes) {
  constexpr std::size_t kOneCall = std::size_t{1} << 30;  // Linux reads less than 2 GiB at once
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        ::read(descriptor_, static_cast<std::byte*>(data) + done, std::min(bytes - done, kOneCall));
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to("be read", path_);
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::int64_t InputFile::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) fail_to("be read", path_);
  return S_ISREG(status.st_mode) ? static_cast<std::int64_t>(status.st_size) : -1;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::int64_t size = file.size();
  if (size < 0)
    fail({.code = ErrorCode::kIo,
          .file = path.string(),
          .found = "cannot be mapped: not a regular file"});
  if (size == 0) return;  // mmap refuses length 0
  void* data =
      ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) fail_to("be mapped", path);
  data_ = static_cast<const std::byte*>(data);
  size_ = static_cast<std::size_t>(size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end / page * page;
  if (first < last) ::madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
}

}  // namespace heed
