// loss.svg: the losses of a run as a picture.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

/// Of the content of a loss.csv: training loss (means of at most 400 stretches) and validation loss
/// over the steps. Light and dark as the viewer is.
std::string loss_svg(std::string_view csv);

void write_loss_svg(const std::filesystem::path& csv, const std::filesystem::path& svg);

}  // namespace heed
