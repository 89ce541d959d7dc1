#include "serve/page_sources.h"

#include "heed/base/error.h"
#include "serve/inflate.h"
#include "serve/page_files.h"

namespace heed::serve {

std::string page_file(std::string_view path) {
  for (const PageFile& file : page_files())
    if (file.path == path) return inflated(file.gzip);
  fail({.code = ErrorCode::kUnsupported,
        .op = "html",
        .found = "heed was built without its page (HEED_PAGE=OFF)",
        .hint = "the file would be made of it"});
}

PageSources page_sources() {
  return {.html = page_file("/"), .style = page_file("/app.css"), .script = page_file("/app.js")};
}

}  // namespace heed::serve
