#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "io/atomic_file.h"
#include "train/run_files.h"

namespace heed {
namespace {

constexpr double kWidth = 720, kHeight = 400;
constexpr double kLeft = 56, kRight = 28, kTop = 36, kBottom = 40;
constexpr std::size_t kStretches = 400;

struct Point {
  double step, loss;
};

struct Curves {
  std::vector<Point> training, validation;
};

// A field of a row, counted from the front.
std::string_view field_of(std::string_view row, int index) {
  for (; index > 0; --index) {
    const std::size_t comma = row.find(',');
    if (comma == std::string_view::npos) return {};
    row.remove_prefix(comma + 1);
  }
  return row.substr(0, row.find(','));
}

Curves read_curves(std::string_view csv) {
  Curves curves;
  csv.remove_prefix(std::min(csv.find('\n') + 1, csv.size()));  // the header
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    const std::string_view row = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    const auto number = [&](int field) {
      return std::strtod(std::string(field_of(row, field)).c_str(), nullptr);
    };
    curves.training.push_back({number(0), number(1)});
    if (!field_of(row, 2).empty()) curves.validation.push_back({number(0), number(2)});
  }
  return curves;
}

// Means of neighbours, so that a long run is a line instead of a cloud.
std::vector<Point> thinned(const std::vector<Point>& points) {
  const std::size_t each = (points.size() + kStretches - 1) / kStretches;
  std::vector<Point> means;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const std::size_t end = std::min(i + each, points.size());
    Point sum = {0, 0};
    for (std::size_t j = i; j < end; ++j) {
      sum.step += points[j].step;
      sum.loss += points[j].loss;
    }
    const auto count = static_cast<double>(end - i);
    means.push_back({sum.step / count, sum.loss / count});
  }
  return means;
}

// 1, 2 or 5 times a power of ten, with about five ticks in the range.
double tick_of(double range) {
  const double power = std::pow(10, std::floor(std::log10(std::max(range, 1e-12) / 5)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (range / (factor * power) <= 6) return factor * power;
  return 10 * power;
}

struct Axes {
  double steps = 1, least = 0, most = 1;

  double x(double step) const { return kLeft + step / steps * (kWidth - kLeft - kRight); }
  double y(double loss) const {
    return kTop + (most - loss) / (most - least) * (kHeight - kTop - kBottom);
  }
};

Axes axes_of(const Curves& curves) {
  Axes axes = {.steps = 1, .least = 1e300, .most = -1e300};
  for (const auto* points : {&curves.training, &curves.validation})
    for (const Point& point : *points) {
      axes.steps = std::max(axes.steps, point.step);
      axes.least = std::min(axes.least, point.loss);
      axes.most = std::max(axes.most, point.loss);
    }
  if (axes.most < axes.least) return {.steps = axes.steps, .least = 0, .most = 1};
  const double tick = tick_of(std::max(axes.most - axes.least, 1e-6));
  axes.least = std::floor(axes.least / tick) * tick;
  axes.most = std::max(std::ceil(axes.most / tick) * tick, axes.least + tick);
  return axes;
}

std::string grid(const Axes& axes) {
  std::string lines;
  const double tick = tick_of(axes.most - axes.least);
  for (int i = 0; axes.least + i * tick <= axes.most + tick / 2; ++i) {
    const double loss = axes.least + i * tick;
    lines += fmt::format(
        "<path class=\"g\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.4g}</text>\n",
        kLeft, axes.y(loss), kWidth - kRight, kLeft - 8, axes.y(loss) + 4, loss);
  }
  const double step_tick = std::max(1.0, tick_of(axes.steps));
  for (int i = 0; i * step_tick <= axes.steps; ++i)
    lines += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.6g}</text>\n",
                         axes.x(i * step_tick), kHeight - kBottom + 20, i * step_tick);
  return lines;
}

std::string line(const Axes& axes, const std::vector<Point>& points, const char* name) {
  std::string path;
  for (const Point& point : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", axes.x(point.step),
                        axes.y(point.loss));
  std::string marks;
  if (std::string_view(name) == "v" && points.size() <= 60)
    for (const Point& point : points)
      marks += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", name,
                           axes.x(point.step), axes.y(point.loss));
  return fmt::format("<path class=\"{}\" d=\"{}\"/>{}\n", name, path, marks);
}

constexpr std::string_view kStyle =
    "<style>svg{background:#fff}text{font:12px Inter,system-ui,sans-serif;fill:#444}"
    "path{fill:none;stroke-width:1.6}.g{stroke:#e4e4e8;stroke-width:1}.t{stroke:#8a8f98}"
    "path.v{stroke:#2f6fde;stroke-width:2}circle.v{fill:#2f6fde}"
    "@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#b8bcc4}"
    ".g{stroke:#2a2d35}.t{stroke:#7b818c}path.v{stroke:#7aa7ff}circle.v{fill:#7aa7ff}}</style>\n";

}  // namespace

std::string loss_svg(std::string_view csv) {
  Curves curves = read_curves(csv);
  curves.training = thinned(curves.training);
  const Axes axes = axes_of(curves);
  std::string legend = "training";
  if (!curves.validation.empty())
    legend += fmt::format("; validation (blue), {:.4f} at the end", curves.validation.back().loss);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" role=\"img\" aria-label=\"losses of a training run\">\n",
             kWidth, kHeight) +
         std::string(kStyle) +
         fmt::format("<text x=\"{}\" y=\"20\">loss (nats) by step: {}</text>\n", kLeft, legend) +
         grid(axes) + line(axes, curves.training, "t") + line(axes, curves.validation, "v") +
         "</svg>\n";
}

void write_loss_svg(const std::filesystem::path& csv, const std::filesystem::path& svg) {
  write_file(svg, loss_svg(read_file(csv, most_data_bytes())));
}

}  // namespace heed
