// The address of a view, which the page shows after # and the command line accepts as --view:
// look/L2.H4+H1/i=17/j=3/range=2-9/to=1/units=word/scale=sqrt, look/cross.L2.H4,
// look/L0.H8/pair=A-B, grid/L1.H3/sort=previous/filter=previous>0.2+layer+0-2,
// matrix/L2.H6/zoom=180-200,160-180
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"

namespace heed {

/// A head in an address; without a stack it is in the session's first stack.
struct ViewPlace {
  std::optional<Stack> stack = {};
  int layer = 0;
  int head = 0;
  bool operator==(const ViewPlace&) const = default;
};

struct ViewAddress {
  std::string view = "look";
  std::vector<ViewPlace> places = {{}};  // the first one shades the text and is drawn as the matrix
  std::optional<std::int64_t> query = {};
  std::optional<std::int64_t> key = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> range = {};  // both ends included
  bool to = false;                  // show who attends to the query instead of what it attends to
  std::string units = "token";      // token, character, word, sentence
  std::string arcs = "apart";       // several heads: a drawing each, or one for all
  std::string quantity = "weight";  // a cell's quantity; carried: its share of what the row writes
  std::string scale = "log";        // linear, sqrt, log, rank
  std::string pair = "";            // of two texts, from which to which: A-A, A-B, B-A, B-B
  std::vector<std::string> scores = {"previous", "distance"};  // the two scores that chips show
  double temperature = 1;         // for the sampled distribution of the next word
  std::int64_t top_k = 0;         // 0: all
  double top_p = 1;               // 1: all
  std::string line = "surprise";  // what a word's underline shows: surprise, entropy, rank
  std::string by = "rollout";     // how a flow is weighted: rollout, effect
  std::string sort = "number";    // order of a layer's heads in the grid: a score, or number
  std::string filter = "";        // filter of heads in the grid (look.h), with single spaces
  std::string x = "previous", y = "without";  // the axes of the heads view
  std::string form = "raw";                   // of scores; adjusted: without the sink
  std::string on = "probe";                   // or text: where induction is measured
  std::string rotation = "after";  // of the plane in Why; before: before rotation by position
  std::string versus = "";   // the other side of a comparison: a head, edits, a text; empty: none
  std::string show = "A-B";  // side of a comparison to show: A, B or A-B
  std::int64_t guide = 0;    // step of the page's guided tour; 0: none
  // In links for other people: the model, its text, and the second text of a pair or the target.
  std::string model = "", text = "", second = "";
  using Range = std::pair<std::int64_t, std::int64_t>;
  std::optional<std::pair<Range, Range>> zoom = {};  // visible queries and keys, ends included
};

/// The names of views, in the page's order.
std::span<const std::string_view> view_names();

/// Whether an address must name its heads. If optional, `grid` and `look/i=17` have no places.
enum class ViewHeads : std::uint8_t { kNamed, kOptional };

/// Parses an address with or without its #. Errors (kInvalidArgument) have the wrong part as
/// `found` and the allowed values as `expected`.
ViewAddress parse_view(std::string_view address, ViewHeads heads = ViewHeads::kNamed);

/// The shortest address that parses to the same view; without places it names no heads.
std::string format_view(const ViewAddress& view);

/// Throws unless the view fits: `model`, with these stacks, has the heads (all in one stack) and
/// scores, and the positions are within matrices of this size.
void check_view(const ViewAddress& view, std::string_view model,
                const std::vector<StackShape>& stacks, const MatrixSize& size);
/// The same for a session, whose pass need not have run.
void check_view(const ViewAddress& view, const Session& session);

/// Resolves the head of an address with these stacks.
Place place_of(const ViewPlace& place, const std::vector<StackShape>& stacks);

struct ShownView {
  ViewAddress view;
  std::optional<ChosenHead> chosen = {};  // if heed chose the head: why, at the pinned edge
};

/// The view with the first head that is kept if it names none, for checks before heed chooses.
ViewAddress with_some_head(ViewAddress view, const Session& session);

/// The requested head, or heed's choice: for the view's edge, column or row; otherwise free, at the
/// edge that heed chooses. Calls `scores`, which needs the pass, only for a free choice.
ChosenHead head_for_view(const Session& session, Stack stack, const ViewAddress& view,
                         std::optional<int> layer, std::optional<int> head,
                         const std::function<std::vector<HeadScores>()>& scores);

/// The choice in the form that a saved page recognises: at the view's pinned row and key.
ShownView shown(ViewAddress view, ChosenHead chosen);

/// Gives a view without a head heed's choice and, if it pins nothing, that head's edge. A view with
/// a head stays as it is.
ShownView with_chosen_head(const Session& session,
                           const std::function<std::vector<HeadScores>()>& scores,
                           ViewAddress view);

}  // namespace heed
