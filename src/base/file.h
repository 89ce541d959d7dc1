// Files of the operating system: an open file to read in order, a memory-mapped file, and a file
// read as a whole. Only regular files are read: a pipe or a device would block the reader or never
// end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace heed {

/// `strerror` of the last failed call.
std::string last_system_error();

/// A file open for reading, starting at its beginning. kNotFound if it does not exist, kIo if the
/// system refuses, kCorrupt if it is not a regular file. Opening never blocks. `/dev/stdin` and
/// `/dev/fd/N` may be pipes, because the program inherited them.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Reads up to `bytes` bytes; fewer only at the end of the file.
  std::size_t read(void* data, std::size_t bytes);
  /// Size of a regular file in bytes; -1 for a pipe.
  std::int64_t size() const;
  int descriptor() const { return descriptor_; }

 private:
  void require_regular() const;

  std::filesystem::path path_;
  int descriptor_;
};

/// A whole file, read-only, paged in by the system on first access.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Lets the system drop the whole pages in this range; they are read from the file again when
  /// needed.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Size limits for each kind of file. The largest real ones: a configuration with 22,000 labels has
/// 1.5 MB, an index of 10^12 parameters 15 MB, a tokenizer 35 MB.
inline constexpr std::int64_t kMostConfigBytes = std::int64_t{8} << 20;
inline constexpr std::int64_t kMostIndexBytes = std::int64_t{64} << 20;
inline constexpr std::int64_t kMostTokenizerBytes = std::int64_t{128} << 20;
/// The limit for training data, which are read as a whole: bounded only by memory.
std::int64_t most_data_bytes();

/// The whole content of a file. Throws the errors of InputFile, and kUnsupported if it has more
/// than `most` bytes or is a Git LFS pointer.
std::string read_file(const std::filesystem::path& path, std::int64_t most = kMostConfigBytes);

/// Throws kUnsupported, with the command that fetches the file, if `bytes`, the content of `path`,
/// are a Git LFS pointer.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

}  // namespace heed
