#include "serve/page_sources.h"

#include <string>

#include "heed/error.h"
#include "serve/inflate.h"
#include "serve/page_files.h"

namespace heed::serve {

void require_page(std::string_view what) {
  if (!page_files().empty()) return;
  fail({.code = ErrorCode::kUnsupported,
        .op = what,
        .found = "heed was built without its page, which draws it",
        .hint =
            "build heed with -DHEED_PAGE=ON, which needs Node, or ask for text, json, tsv or npy"});
}

std::string page_file(std::string_view path) {
  require_page("html");
  for (const PageFile& file : page_files())
    if (file.path == path) return inflated(file.gzip);
  fail({.code = ErrorCode::kNotFound,
        .op = "html",
        .found = "the page has no " + std::string(path)});
}

PageSources page_sources() {
  return {.html = page_file("/"), .style = page_file("/app.css"), .script = page_file("/app.js")};
}

}  // namespace heed::serve
