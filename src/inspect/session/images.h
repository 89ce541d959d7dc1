// The images of a session, and the tokens that are their cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Gives the session its images; each of their tokens is then named by its cell: `im0 r2 c5`, or
/// `im0 c5` of a grid of one row, all counted from 0. An image without a name is called by its
/// number. Errors name the image and what is wrong.
void add_images(Session& session, std::vector<SessionImage> images);

/// The picture as a URL that holds it; none where the image has no picture.
std::optional<std::string> picture_url(const SessionImage& image);

}  // namespace heed
