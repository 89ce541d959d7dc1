// The page's files as they lie in the program: gzipped by the build from web/dist.
#pragma once

#include <span>
#include <string_view>

namespace heed::serve {

struct PageFile {
  std::string_view path;  // "/app.js"; the page itself is "/"
  std::string_view type;
  std::string_view etag;
  std::string_view gzip;
};

/// Empty where the program was built without the page.
std::span<const PageFile> page_files();

}  // namespace heed::serve
