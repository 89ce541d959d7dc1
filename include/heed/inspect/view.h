// The address of a view, which the page shows behind # and the command line takes as --view:
// look/L2.H4+H1/i=17/j=3/range=2-9/to=1/units=word/scale=sqrt, look/cross.L2.H4,
// look/L0.H8/pair=A-B, grid/L1.H3/sort=previous/filter=previous>0.2+layer+0-2,
// matrix/L2.H6/zoom=180-200,160-180
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// A head as an address names it: without a stack it is one of the session's first.
struct ViewPlace {
  std::optional<Stack> stack = {};
  int layer = 0;
  int head = 0;
  bool operator==(const ViewPlace&) const = default;
};

struct ViewAddress {
  std::string view = "look";
  std::vector<ViewPlace> places = {{}};  // the first is shaded in the text and drawn as the matrix
  std::optional<std::int64_t> query = {};
  std::optional<std::int64_t> key = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> range = {};  // both ends included
  bool to = false;                  // who attends to the query, in place of what it attends to
  std::string units = "token";      // token, character, word, sentence
  std::string arcs = "apart";       // of several heads: a drawing each, or one together
  std::string quantity = "weight";  // of a cell; carried: its share of what the row's values write
  std::string scale = "log";        // linear, sqrt, log, rank
  std::string pair = "";            // of two texts, from which to which: A-A, A-B, B-A, B-B
  std::vector<std::string> scores = {"previous", "distance"};  // the two that chips show
  double temperature = 1;         // of the next word, as it would be drawn
  std::int64_t top_k = 0;         // 0: all
  double top_p = 1;               // 1: all
  std::string line = "surprise";  // what underlines a word: surprise, entropy, rank
  std::string by = "rollout";     // what weighs a flow: rollout, effect
  std::string sort = "number";    // of the heads of a layer in the grid: by a score, or by number
  std::string filter = "";        // of heads in the grid (head_filter.h), with single blanks
  std::string x = "previous", y = "without";  // the axes of the heads view
  std::string form = "raw";                   // of its scores; adjusted: without the sink
  std::string on = "probe";                   // or text: where induction is looked for
  std::string rotation = "after";  // of the plane in Why; before: as if positions turned nothing
  std::string versus = "";   // what it is compared with: a head, edits, a text; empty: nothing
  std::string show = "A-B";  // of a comparison: A, B or A-B
  std::int64_t guide = 0;    // the step of the page's guided look; 0: none
  // In links that somebody else can open: the model, its text, the second text of a pair or the
  // target.
  std::string model = "", text = "", second = "";
  using Range = std::pair<std::int64_t, std::int64_t>;
  std::optional<std::pair<Range, Range>> zoom = {};  // queries and keys in sight, ends included
};

/// The names of views, in the order in which the page has them.
std::span<const std::string_view> view_names();

/// Whether an address names its heads. Where it need not, `grid` and `look/i=17` have no places.
enum class ViewHeads : std::uint8_t { kNamed, kOptional };

/// Reads it with or without its #. Errors (kInvalidArgument) have the part that is wrong as
/// `found`, and what it may be as `expected`.
ViewAddress parse_view(std::string_view address, ViewHeads heads = ViewHeads::kNamed);

/// The shortest address that reads as the same; without places it names no heads.
std::string format_view(const ViewAddress& view);

/// Throws unless `model`, with these stacks, has the places, all of one stack, and the scores, and
/// the stack's matrices, of this size, the positions.
void check_view(const ViewAddress& view, std::string_view model,
                const std::vector<StackShape>& stacks, const MatrixSize& size);
/// The same of a session, which may not have been run.
void check_view(const ViewAddress& view, const Session& session);

/// The place of a session of these stacks.
Place place_of(const ViewPlace& place, const std::vector<StackShape>& stacks);

}  // namespace heed
