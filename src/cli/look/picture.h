// A view as a picture, drawn by the page in a browser without a window.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "heed/inspect/view.h"
#include "heed/models/registry.h"
#include "inspect/answers/live_session.h"

namespace heed::cli {

struct PictureTask {
  std::string format;  // svg or png
  int width = 1440;
  bool dark = false;
  std::optional<std::string> panel = {};  // this part of the view alone
  std::string program;                    // of find_browser
  const LoadedModel* model = {};          // null: of a session of arrays
  std::function<void()> check;  // called while the browser draws; throws when it is time to stop
};

/// The view of a session whose pass has ended.
std::string draw_picture(const SessionPointer& session, const ViewAddress& view,
                         const PictureTask& task);

}  // namespace heed::cli
