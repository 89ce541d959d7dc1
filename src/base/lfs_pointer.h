// Git LFS leaves a note in the place of a large file until somebody fetches it.
#pragma once

#include <string>
#include <string_view>

namespace heed {

/// kUnsupported, with the command that fetches the file, where `bytes`, the content of `path`, are
/// such a note.
void refuse_lfs_pointer(const std::string& path, std::string_view bytes);

}  // namespace heed
