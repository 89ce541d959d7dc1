#include "inspect/session/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heed/error.h"
#include "text/pipeline/base64.h"

namespace heed {
namespace {

// Returns the media type; empty if the bytes are neither a PNG nor a JPEG.
std::string_view picture_type(std::string_view picture) {
  if (picture.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (picture.starts_with("\xff\xd8\xff")) return "image/jpeg";
  return {};
}

[[noreturn]] void refuse(std::size_t image, std::string_view part, std::string found,
                         std::string expected) {
  fail("session", fmt::format("images[{}].{}", image, part), std::move(found), std::move(expected));
}

void check_grid(const SessionImage& image, std::size_t index) {
  const std::int64_t cells = std::ssize(image.tokens);
  for (const auto& [name, length] :
       {std::pair("rows", image.rows), std::pair("columns", image.columns)})
    if (length < 1) refuse(index, name, fmt::format("{}", length), "at least 1");
  // Divides, because the product of two large numbers could overflow.
  if (cells % image.rows != 0 || cells / image.rows != image.columns)
    refuse(index, "tokens", fmt::format("a list of {}", cells),
           fmt::format("{} x {}, one per cell", image.rows, image.columns));
  if (!image.picture.empty() && picture_type(image.picture).empty())
    refuse(index, "picture", fmt::format("{} bytes of another format", image.picture.size()),
           "a PNG or JPEG");
  if (!image.of_queries && !image.of_keys)
    refuse(index, "of", "", "the queries, the keys, or both");
}

std::string cell_name(const SessionImage& image, std::size_t index, std::int64_t cell) {
  const std::int64_t column = cell % image.columns;
  if (image.rows == 1) return fmt::format(" im{} c{}", index, column);
  return fmt::format(" im{} r{} c{}", index, cell / image.columns, column);
}

void name_cells(const SessionImage& image, std::size_t index, std::vector<SessionToken>& tokens) {
  for (std::int64_t cell = 0; cell < std::ssize(image.tokens); ++cell) {
    const std::int64_t token = image.tokens[static_cast<std::size_t>(cell)];
    if (token == -1) continue;
    const std::string part = fmt::format("tokens[{}]", cell);
    if (token < 0 || token >= std::ssize(tokens))
      refuse(index, part, fmt::format("{}", token),
             fmt::format("-1, or 0 to {}", std::ssize(tokens) - 1));
    SessionToken& named = tokens[static_cast<std::size_t>(token)];
    if (named.of_image)
      refuse(index, part, fmt::format("{}", token),
             fmt::format("a token of no other cell:{} has it", named.bytes));
    named.of_image = true;
    named.bytes = cell_name(image, index, cell);
  }
}

// Tokens of images add nothing to the session's text.
void place_in_text(std::vector<SessionToken>& tokens) {
  std::int64_t left_out = 0;
  for (SessionToken& token : tokens) {
    const std::int64_t length = token.of_image ? token.end - token.begin : 0;
    token.begin -= left_out;
    left_out += length;
    token.end -= left_out;
  }
}

}  // namespace

void add_images(Session& session, std::vector<SessionImage> images) {
  if (images.size() > kMostImages)
    fail("session", "images", fmt::format("a list of {}", images.size()),
         fmt::format("at most {}", kMostImages));
  const bool is_square = session.key_tokens.empty();
  for (std::size_t index = 0; index < images.size(); ++index) {
    SessionImage& image = images[index];
    check_grid(image, index);
    if (image.name.empty()) image.name = fmt::format("image {}", index);
    if (is_square) image.of_queries = image.of_keys = true;
    if (image.of_queries) name_cells(image, index, session.tokens);
    if (image.of_keys && !is_square) name_cells(image, index, session.key_tokens);
  }
  place_in_text(session.tokens);
  place_in_text(session.key_tokens);
  session.images = std::move(images);
  for (SessionStack& stack : session.stacks)
    stack.shape.has_images =
        std::ranges::any_of(session.keys(stack.shape.stack), &SessionToken::of_image);
}

std::optional<std::string> picture_url(const SessionImage& image) {
  if (image.picture.empty()) return {};
  return fmt::format("data:{};base64,{}", picture_type(image.picture),
                     encode_base64(image.picture));
}

}  // namespace heed
