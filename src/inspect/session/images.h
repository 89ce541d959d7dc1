// The images of a session, and the tokens that are their cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/session.h"

namespace heed {

/// Stores the images in the session and names each of their tokens by its cell: `im0 r2 c5`, or
/// `im0 c5` for a grid of one row, all counted from 0. An image without a name is called by its
/// number. Errors name the image and what is wrong.
void add_images(Session& session, std::vector<SessionImage> images);

/// Returns the picture as a data URL; none if the image has no picture.
std::optional<std::string> picture_url(const SessionImage& image);

}  // namespace heed
