// The page's files as a browser reads them, for a page that is saved as one file.
#pragma once

#include "inspect/saved/saved_page.h"

namespace heed::serve {

/// Throws kUnsupported in a program built without the page.
PageSources page_sources();

}  // namespace heed::serve
