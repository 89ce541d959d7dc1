// The terminal's capabilities, and lines laid out in its cells.
#pragma once

#include <string>
#include <string_view>

namespace heed::cli {

/// Terminal cells of UTF-8 text: 2 for wide scripts, 0 for combining marks, 1 otherwise.
int cell_width(std::string_view text);

/// The text, or its longest beginning that fits in `cells` with `mark` (one cell) at its end.
std::string truncated(std::string_view text, int cells, std::string_view mark);

struct Terminal {
  int width = 100;      // in cells
  bool bold = false;    // bold may be used
  bool colour = false;  // colours, dim and reverse video may be used
  bool utf8 = true;     // false: bars are made of = and -

  /// Whether long lines are cut instead of wrapped.
  bool cuts() const { return width < 60; }
};

/// `colour` is "auto" (a terminal, and NO_COLOR is not set), "always" or "never". The width is the
/// terminal's, else $COLUMNS, else 100; at least 16.
Terminal detect_terminal(std::string_view colour);

enum class Style { kPlain, kBold, kDim, kBar, kReverse };

/// One line, filled from the left.
class Line {
 public:
  explicit Line(const Terminal& terminal) : terminal_(terminal) {}

  Line& put(std::string_view text, Style style = Style::kPlain);
  /// Spaces up to this cell; none when the line is there already.
  Line& to(int column);
  /// Right-aligns `text` to end at cell `end`, at least one space after the previous text.
  Line& right(int end, std::string_view text, Style style = Style::kPlain);
  int column() const { return column_; }
  /// The line without trailing spaces, with a line end.
  std::string str() const;

 private:
  Line& put_cut(std::string_view text, int room, Style style);

  Terminal terminal_;
  std::string text_;
  int column_ = 0;
  int spaces_ = 0;  // pending, so that lines do not end in spaces
};

/// A bar in steps of half a cell: `cells` cells at 1, and at least half a cell from 0.005.
std::string bar(const Terminal& terminal, double fraction, int cells);

/// `.683`, as the page shows weights, shares and probabilities; `1.00` from .9995, `<.001` below
/// .0005. At most five cells.
std::string weight_text(double weight);

/// Bold heading, two spaces, dim explanation, which wraps if the line is too short.
std::string heading(const Terminal& terminal, std::string_view title, std::string_view explanation);

/// Dim, indented text in lines of at most the terminal's width.
std::string paragraph(const Terminal& terminal, std::string_view text, int indent);

/// `three`, up to twelve; digits above that.
std::string number_word(std::int64_t number);

/// `3rd`.
std::string ordinal(std::int64_t number);

}  // namespace heed::cli
