// The page's files as a browser reads them, for a page that is saved as one file.
#pragma once

#include <string>
#include <string_view>

#include "inspect/saved/saved_page.h"

namespace heed::serve {

/// Throws kUnsupported in a program built without the page; `what` needs it: "svg".
void require_page(std::string_view what);

/// One of them by its path: "/app.js". Throws as `require_page` does.
std::string page_file(std::string_view path);

PageSources page_sources();

}  // namespace heed::serve
