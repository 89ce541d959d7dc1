#include "serve/page_sources.h"

#include <zlib.h>

#include <array>

#include "heed/error.h"

namespace heed::serve {

std::string inflated(std::string_view gzip) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
    fail({.code = ErrorCode::kFailed, .op = "page", .found = "zlib does not start"});
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text;
  std::array<char, 65536> block;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(block.data(), block.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    fail({.code = ErrorCode::kCorrupt, .op = "page", .found = "the page's files are damaged"});
  return text;
}

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
