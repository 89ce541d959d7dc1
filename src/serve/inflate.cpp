#include "serve/inflate.h"

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

}  // namespace heed::serve
