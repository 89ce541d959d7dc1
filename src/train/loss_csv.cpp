#include "train/loss_csv.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace heed {
namespace {

constexpr std::string_view kHeader =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds\n";
constexpr std::string_view kHeaderWithAccuracy =
    "step,train_loss,validation_loss,learning_rate,tokens,seconds,accuracy\n";

// 9 digits give an f32 back, 17 an f64; losses are f64.
std::string to_text(const LossRow& row, bool has_accuracy) {
  const std::string validation =
      row.validation_loss ? fmt::format("{:.17g}", *row.validation_loss) : std::string();
  const std::string accuracy = row.accuracy ? fmt::format("{:.6f}", *row.accuracy) : "";
  return fmt::format("{},{:.17g},{},{:.9g},{},{:.3f}{}{}\n", row.step, row.train_loss, validation,
                     row.learning_rate, row.tokens, row.seconds, has_accuracy ? "," : "", accuracy);
}

}  // namespace

LossCsv::LossCsv(std::filesystem::path path, std::int64_t step, bool has_accuracy)
    : csv_(std::move(path), has_accuracy ? kHeaderWithAccuracy : kHeader, step),
      has_accuracy_(has_accuracy) {}

void LossCsv::append(const LossRow& row) { csv_.append(to_text(row, has_accuracy_)); }

}  // namespace heed
