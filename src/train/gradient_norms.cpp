#include "train/gradient_norms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace heed {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> parts_of(std::span<const Parameter* const> parameters) {
  std::vector<std::string> parts;
  for (const Parameter* parameter : parameters)
    if (std::string part = part_of_model(parameter->name);
        std::ranges::find(parts, part) == parts.end())
      parts.push_back(std::move(part));
  return parts;
}

}  // namespace

std::string part_of_model(std::string_view parameter) {
  for (std::size_t begin = 0; begin < parameter.size();) {
    const std::size_t end = std::min(parameter.find('.', begin), parameter.size());
    if (is_number(parameter.substr(begin, end - begin)))
      return std::string(parameter.substr(0, end));
    begin = end + 1;
  }
  return std::string(parameter.substr(0, parameter.rfind('.')));
}

GradientNorms::GradientNorms(std::filesystem::path path, std::int64_t step,
                             std::span<const Parameter* const> parameters)
    : parts_(parts_of(parameters)),
      sums_(parts_.size()),
      csv_(std::move(path), fmt::format("step,all,{}\n", fmt::join(parts_, ",")), step) {
  for (const Parameter* parameter : parameters)
    part_of_.push_back(static_cast<std::size_t>(
        std::ranges::find(parts_, part_of_model(parameter->name)) - parts_.begin()));
}

void GradientNorms::append(std::int64_t step, std::span<const double> squares) {
  std::ranges::fill(sums_, 0);
  double all = 0;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    sums_[part_of_[i]] += squares[i];
    all += squares[i];
  }
  std::string row = fmt::format("{},{:.6g}", step, std::sqrt(all));
  for (const double sum : sums_) row += fmt::format(",{:.6g}", std::sqrt(sum));
  csv_.append(row + "\n");
}

}  // namespace heed
