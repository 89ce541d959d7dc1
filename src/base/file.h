// Files as the system has them: an open file to read in order, one mapped into memory, and one read
// as a whole. Only regular files are read: a pipe or a device would block the reader or never end.
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

/// A file open for reading, from the beginning on. kNotFound when it does not exist, kIo when the
/// system refuses, kCorrupt when it is not a regular file. Opening never blocks. `/dev/stdin` and
/// `/dev/fd/N` may be pipes: the caller of the program gave them to it.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// As many bytes as there are, at most `bytes`; fewer only at the end of the file.
  std::size_t read(void* data, std::size_t bytes);
  /// The bytes of a regular file; -1 for a pipe.
  std::int64_t size() const;
  int descriptor() const { return descriptor_; }

 private:
  void require_regular() const;

  std::filesystem::path path_;
  int descriptor_;
};

/// A whole file, read-only, paged in by the system when it is touched.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The whole pages between may leave memory; they come back from the file.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The most bytes that a file of this kind may have. The largest real ones: a configuration with
/// 22,000 labels has 1.5 MB, an index of 10^12 parameters 15 MB, a tokenizer 35 MB.
inline constexpr std::int64_t kMostConfigBytes = std::int64_t{8} << 20;
inline constexpr std::int64_t kMostIndexBytes = std::int64_t{64} << 20;
inline constexpr std::int64_t kMostTokenizerBytes = std::int64_t{128} << 20;
/// Data of a training run, which are read as a whole: only memory bounds them.
std::int64_t most_data_bytes();

/// The whole content of a file; the errors of InputFile otherwise, kUnsupported where it has more
/// than `most` bytes or is a pointer of Git LFS.
std::string read_file(const std::filesystem::path& path, std::int64_t most = kMostConfigBytes);

/// kUnsupported, with the command that fetches the file, where `bytes`, the content of `path`, are
/// such a note.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

}  // namespace heed
