// A file that appears complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "heed/tensor.h"

namespace heed {

/// Writes to `<path>.partial-<pid>` in the same folder; `commit` flushes it to the disk (fsync of
/// file and folder) and renames it over `path`. Without `commit`, and on any error, the partial
/// file is removed and `path` is unchanged. A process killed at any instant leaves either the old
/// file or the new one. Errors are kIo and name the path and the system's reason ("No space left on
/// device"). A device or a pipe (`/dev/stdout`) is written in place.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile& operator=(AtomicFile&&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  void check_open() const;
  void discard();
  [[noreturn]] void give_up();  // removes the file, then throws the system's reason

  std::filesystem::path path_;
  std::filesystem::path partial_;
  int descriptor_ = -1;
};

/// Writes `text` as the whole content of `path`, atomically.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Needs only a small buffer besides the view. A `dtype` other than the view's converts between
/// floating types.
void write_elements(AtomicFile& file, const ConstView& view, DType dtype);

}  // namespace heed
