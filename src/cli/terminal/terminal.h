// What the terminal can show, and lines laid out in its cells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::cli {

/// Terminal cells of UTF-8 text: 2 for wide scripts, 0 for marks that combine, 1 otherwise.
int cell_width(std::string_view text);

/// The text, or as much of it as fits into `cells` with `mark` (one cell) at its end.
std::string truncated(std::string_view text, int cells, std::string_view mark);

struct Terminal {
  int width = 100;      // cells
  bool bold = false;    // bold may be used
  bool colour = false;  // colours, dim and reverse video too
  bool utf8 = true;     // else bars are = and -

  /// Whether what does not fit on a line is cut off, in place of wrapping anywhere.
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
  /// Puts `text` so that it ends at cell `end`, at least one space behind what is there.
  Line& right(int end, std::string_view text, Style style = Style::kPlain);
  int column() const { return column_; }
  /// The line without trailing spaces, with its end.
  std::string str() const;

 private:
  Line& put_cut(std::string_view text, int room, Style style);

  Terminal terminal_;
  std::string text_;
  int column_ = 0;
  int spaces_ = 0;  // not written yet, so that lines do not end in them
};

/// A bar in steps of half a cell: `cells` cells at 1, and at least half a cell from 0.005.
std::string bar(const Terminal& terminal, double fraction, int cells);

/// `.683`, as the page writes weights, shares and probabilities; `1.00` from .9995, `<.001` below
/// .0005. Five cells at most.
std::string weight_text(double weight);

/// Bold heading, two spaces, dim explanation; the explanation wraps where the line is too short.
std::string heading(const Terminal& terminal, std::string_view title, std::string_view explanation);

/// Dim text in lines of at most the terminal's width, indented.
std::string paragraph(const Terminal& terminal, std::string_view text, int indent);

/// `three`, up to twelve; digits above.
std::string number_word(std::int64_t number);

/// `3rd`.
std::string ordinal(std::int64_t number);

}  // namespace heed::cli
