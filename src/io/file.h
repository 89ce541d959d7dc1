// Files as the system has them: an open file to read in order, and one mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace heed {

/// `strerror` of the last failed call.
std::string last_system_error();

/// A file open for reading, from the beginning on. kNotFound when it does not exist, kIo when the
/// system refuses.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// As many bytes as there are, at most `bytes`; fewer only at the end of the file.
  std::size_t read(void* data, std::size_t bytes);
  /// The bytes of a regular file; -1 for a pipe or a device.
  std::int64_t size() const;
  int descriptor() const { return descriptor_; }

 private:
  void refuse_folder() const;

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

}  // namespace heed
