#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/machine.h"
#include "base/wording.h"
#include "heed/error.h"

namespace heed {

std::string last_system_error() { return std::generic_category().message(errno); }

namespace {

[[noreturn]] void fail_to(std::string_view what, const std::filesystem::path& path,
                          ErrorCode code = ErrorCode::kIo) {
  const std::string reason = last_system_error();
  fail({.code = code, .file = path.string(), .found = fmt::format("cannot {}: {}", what, reason)});
}

// Whether the program inherited the open file from its parent, such as a shell's pipe.
bool is_given(const std::filesystem::path& path) {
  return path == "/dev/stdin" || path.native().starts_with("/dev/fd/");
}

// Names the kind of a path that is not a regular file; null for a regular file.
const char* not_a_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISREG(mode) ? nullptr : "a device";
}

[[noreturn]] void refuse_kind(const std::filesystem::path& path, const char* kind) {
  fail({.code = ErrorCode::kCorrupt, .file = path.string(), .found = kind, .expected = "a file"});
}

}  // namespace

// Without O_NONBLOCK, opening a pipe waits for a writer. Regular files ignore it.
InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_given(path_) ? 0 : O_NONBLOCK))) {
  if (descriptor_ >= 0) {
    require_regular();
    return;
  }
  if (errno == ENXIO) refuse_kind(path_, "a socket or a device");
  const bool absent = errno == ENOENT || errno == ENOTDIR;
  fail_to("be opened", path_, absent ? ErrorCode::kNotFound : ErrorCode::kIo);
}

void InputFile::require_regular() const {
  struct stat status = {};
  const char* const kind =
      ::fstat(descriptor_, &status) == 0 ? not_a_file(status.st_mode) : nullptr;
  if (kind == nullptr || (is_given(path_) && !S_ISDIR(status.st_mode))) return;
  ::close(descriptor_);
  refuse_kind(path_, kind);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(void* data, std::size_t bytes) {
  constexpr std::size_t kOneCall = std::size_t{1} << 30;  // Linux reads less than 2 GiB per call
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

std::int64_t most_data_bytes() { return static_cast<std::int64_t>(memory_there()); }

namespace {

[[noreturn]] void refuse_size(const std::filesystem::path& path, std::int64_t size,
                              std::int64_t most) {
  fail({.code = ErrorCode::kUnsupported,
        .file = path.string(),
        .found = "has " + number_of(size, "byte"),
        .expected = fmt::format("at most {}", most)});
}

}  // namespace

// Checks the size before and after reading: files of /proc report 0, and a file may grow meanwhile.
std::string read_file(const std::filesystem::path& path, std::int64_t most) {
  InputFile file(path);
  const std::int64_t size = file.size();
  if (size > most) refuse_size(path, size, most);
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), '\0');
  text.resize(file.read(text.data(), text.size()));
  std::array<char, 65536> more;
  while (const std::size_t count = file.read(more.data(), more.size())) {
    text.append(more.data(), count);
    if (std::ssize(text) > most) refuse_size(path, std::ssize(text), most);
  }
  refuse_lfs_pointer(path.string(), text);
  return text;
}

void refuse_lfs_pointer(const std::string& path, std::string_view bytes) {
  constexpr std::size_t kLongest = 1024;  // the limit in the Git LFS specification
  if (bytes.size() > kLongest || !bytes.starts_with("version https://git-lfs.github.com/spec/"))
    return;
  const std::size_t slash = path.rfind('/');
  fail({.code = ErrorCode::kUnsupported,
        .file = path,
        .found = "a pointer of Git LFS, not the file itself",
        .hint = fmt::format("fetch it: git -C {} lfs pull",
                            slash == std::string::npos ? "." : path.substr(0, slash))});
}

}  // namespace heed
