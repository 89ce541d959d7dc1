#include "base/lfs_pointer.h"

#include <fmt/format.h>

#include <cstddef>

#include "heed/error.h"

namespace heed {

void refuse_lfs_pointer(const std::string& path, std::string_view bytes) {
  constexpr std::size_t kLongest = 1024;  // as its specification has it
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
