// The page's files, gzipped into the program by the build from web/dist, and their uncompressed
// form.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inspect/saved/saved_page.h"

namespace heed::serve {

/// A file as stored in the program.
struct PageFile {
  std::string_view path;  // "/app.js"; the page itself is "/"
  std::string_view type;
  std::string_view etag;
  std::string_view gzip;
};

/// Empty if the program was built without the page.
std::span<const PageFile> page_files();

std::string inflated(std::string_view gzip);

/// Throws kUnsupported if the program was built without the page; `what` is the feature that needs
/// it: "svg".
void require_page(std::string_view what);

/// One file by its path: "/app.js". Throws like `require_page`.
std::string page_file(std::string_view path);

PageSources page_sources();

}  // namespace heed::serve
