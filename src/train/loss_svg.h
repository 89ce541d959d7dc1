// loss.svg: a picture of a run's losses.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heed {

/// From the content of a loss.csv: training loss (means of at most 400 segments) and validation
/// loss over the steps. Light or dark like the viewer.
std::string loss_svg(std::string_view csv);

void write_loss_svg(const std::filesystem::path& csv, const std::filesystem::path& svg);

}  // namespace heed
