// `heed look` as the page shows it: an SVG, a PNG, or the page itself as one file.
#pragma once

#include <optional>
#include <string>

#include "cli/look/view.h"
#include "heed/models/registry.h"

namespace heed::cli {

struct LookFileOptions {
  std::string format;  // svg, png or html
  std::string text;
  std::optional<std::string> pair = {};
  std::optional<std::string> target = {};
  ViewOptions view;
  int width = 1440;
  bool dark = false;
  std::optional<std::string> panel = {};  // of svg and png: this part of the view alone
};

/// The file's content. html needs nothing; svg and png are drawn by the page in a browser without a
/// window (kNotFound where there is none).
std::string look_file(const LoadedModel& model, const LookFileOptions& options);

}  // namespace heed::cli
