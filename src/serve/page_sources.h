// The page's files: gzipped in the program by the build from web/dist, and as a browser reads them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inspect/saved/saved_page.h"

namespace heed::serve {

/// As it lies in the program.
struct PageFile {
  std::string_view path;  // "/app.js"; the page itself is "/"
  std::string_view type;
  std::string_view etag;
  std::string_view gzip;
};

/// Empty where the program was built without the page.
std::span<const PageFile> page_files();

std::string inflated(std::string_view gzip);

/// Throws kUnsupported in a program built without the page; `what` needs it: "svg".
void require_page(std::string_view what);

/// One of them by its path: "/app.js". Throws as `require_page` does.
std::string page_file(std::string_view path);

PageSources page_sources();

}  // namespace heed::serve
