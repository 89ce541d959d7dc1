// A text is tokenized once and run once, whichever way it is shown.
#include <gtest/gtest.h>

#include "cli/look/files.h"
#include "cli/tiny_model.h"
#include "serve/page_sources.h"
#include "support/counting_model.h"

namespace heed::cli {
namespace {

TEST(LookPasses, APageIsOnePassAndTwoMoreToTryItsEdge) {
  if (serve::page_files().empty()) GTEST_SKIP() << "built without the page (HEED_PAGE=OFF)";
  for (const auto& [view, passes] : {std::pair("look/L1.H2/i=3", 1), {"look/L1.H2/i=3/j=1", 3}}) {
    const test::Counted counted(load_model(test::tiny_model()));
    LookOptions options;
    options.format = "html";
    options.input.text = "the cat sat on the mat";
    options.view = view;
    look_file(counted.model, options);
    EXPECT_EQ(counted.passes(), passes) << view;
    EXPECT_EQ(counted.encodings(), 1) << view;
  }
}

}  // namespace
}  // namespace heed::cli
