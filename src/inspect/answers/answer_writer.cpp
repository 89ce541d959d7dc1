#include "inspect/answers/answer_writer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/tokenizer.h"

namespace heed {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes per write

// A row of 100,000 tokens has as many numbers; appending them digit by digit takes twice as long.
void append(std::string& json, auto number) {
  char digits[32];
  json.append(digits, fmt::format_to(digits, FMT_COMPILE("{}"), number));
}

void append_finite(std::string& json, auto number) {
  if (std::isfinite(number)) return append(json, number);
  json += "null";
}

}  // namespace

void AnswerWriter::number(std::int64_t number) { append(json_, number); }
void AnswerWriter::number(float number) { append_finite(json_, number); }
void AnswerWriter::number(double number) { append_finite(json_, number); }

// Top-level fields and the items of their lists have separate lines; anything deeper shares a line.
bool AnswerWriter::on_lines() const {
  return layout_ == JsonLayout::kLines &&
         (open_.size() == 1 || (open_.size() == 2 && open_.back() == '['));
}

void AnswerWriter::open(char bracket) {
  json_ += bracket;
  open_ += bracket;
  first_ = true;
}

void AnswerWriter::close(char bracket) {
  const bool lines = on_lines() && !first_;
  open_.pop_back();
  if (lines) json_.append(1, '\n').append(2 * open_.size(), ' ');
  json_ += bracket;
  first_ = false;
}

void AnswerWriter::next() {
  if (!first_) json_ += ',';
  if (on_lines()) {
    json_.append(1, '\n').append(2 * open_.size(), ' ');
  } else if (!first_ && layout_ == JsonLayout::kLines) {
    json_ += ' ';
  }
  first_ = false;
  if (!sink_ || json_.size() < kPiece) return;
  sink_(json_);
  json_.clear();
}

std::string json_string(std::string_view bytes) { return Json(token_text(bytes)).dump(); }

std::string token_text(std::string_view bytes) {
  return find_invalid_utf8(bytes) < 0 ? std::string(bytes) : displayable(bytes);
}

std::optional<std::string> token_hex(std::string_view bytes) {
  if (find_invalid_utf8(bytes) < 0) return {};
  return joined(bytes, "", [](unsigned char byte) { return fmt::format("{:02x}", byte); });
}

}  // namespace heed
