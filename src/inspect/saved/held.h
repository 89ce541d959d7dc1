// The content of a saved page, which replaces a server: heads, thumbnails of the other heads,
// answers of a model. A head is stored as q, k and lse, or as its weights if these do not reproduce
// them: given weights, scores with a bias, a soft cap or a sink, masks with gaps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/session.h"
#include "inspect/answers/heads.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/models.h"
#include "inspect/answers/view.h"
#include "text/pipeline/base64.h"

namespace heed {

/// A head stored by weights: the largest of each row, in key order.
struct HeldWeightsAnswer {
  std::optional<std::int64_t> largest = {};  // how many are listed per row; empty: all
  std::string counts = {}, begins = {},
              ends = {};              // u16 per row: the visible keys, including unlisted ones
  std::string rests = {};             // f32 per row: the sum of the unlisted weights
  std::string keys = {}, codes = {};  // u16 per entry
  void describe(auto& field) const {
    HEED_FIELDS(field, largest, counts, begins, ends, rests, keys, codes);
  }
};

struct HeldHeadAnswer {
  int head = 0, group = 0;
  double scale = 0;
  std::string q = {}, lse = {}, received = {}, keys_in_use = {};  // base64 of little-endian numbers
  Nullable<double> row_sum_error = {};
  std::optional<std::string> overview = {};       // the whole matrix in one tile, if it is larger
  std::optional<HeldWeightsAnswer> weights = {};  // replaces scale, q and lse
  void describe(auto& field) const {
    HEED_FIELDS(field, head, group, scale, q, lse, received, keys_in_use, row_sum_error, overview,
                weights);
  }
};

struct HeldLayerAnswer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::int64_t dim = 0;
  std::string begins = {}, ends = {};            // the keys that each query may see
  std::map<std::string, std::string> keys = {};  // K by group
  std::vector<HeldHeadAnswer> heads = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, layer, dim, begins, ends, keys, heads);
  }
};

/// One question about words or flows, with its answer.
struct HeldAnswer {
  std::string question = {}, answer = {};
  void describe(auto& field) const { HEED_FIELDS(field, question, answer); }
};

/// The thumbnails of heads that the file does not contain.
struct HeldAtlasAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t block = 0, rows = 0, columns = 0;
  std::map<std::string, std::string> heads = {};  // by layer x heads + head
  void describe(auto& field) const { HEED_FIELDS(field, stack, block, rows, columns, heads); }
};

/// A file's content for one session.
struct HeldSessionAnswer {
  SessionAnswer session = {};
  ChosenAnswer chosen = {};
  std::vector<LayerHeadsAnswer> scores = {};
  std::vector<NextAnswer> next = {};
  std::vector<HeldLayerAnswer> held = {};
  std::vector<HeldAtlasAnswer> atlas = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, session, chosen, scores, next, held, atlas);
  }
};

struct SnapshotAnswer {
  ModelsAnswer about = {};
  std::string view = {};
  HeldSessionAnswer own = {};                       // its fields are inlined here
  std::map<std::string, std::string> answers = {};  // about words and flows (held_answers.h)
  std::optional<HeldSessionAnswer> edited = {};     // the other side of a comparison
  void describe(auto& field) const {
    HEED_FIELDS(field, about, view);
    own.describe(field);
    field.list("answers", answers,
               [](const auto& answer) { return HeldAnswer{answer.first, answer.second}; });
    field("edited", edited);
  }
};

/// The heads stored in a file of this view: all heads, or those of the first one's layer, or only
/// those in view, whichever is the most that fits in `bytes`; the heads in view always.
std::vector<HeldStackAnswer> choose_held(const Session& session, const ViewAddress& view,
                                         std::int64_t bytes);

/// Stores Q, K and lse of a head if every weight is e^(scale q.k - lse) over a run of keys, else
/// its largest weights (held_weights.h). Heads in view have all of their weights.
std::vector<HeldLayerAnswer> hold(const LiveSession& session,
                                  const std::vector<HeldStackAnswer>& held,
                                  std::span<const Place> in_view, std::int64_t bytes);

/// The keys [begin, end) that each query of the layer may see.
struct VisibleKeys {
  std::vector<std::int32_t> begins;
  std::vector<std::int32_t> ends;
  bool operator==(const VisibleKeys&) const = default;
};
/// Empty if the keys that a query sees have gaps.
std::optional<VisibleKeys> visible_keys(const LayerAttention& layer, int head);

/// The codes of the whole matrix in one tile, which a page would need seconds to pool for a long
/// text.
std::string whole_tile(const LiveSession& session, const Place& place);

inline constexpr std::int64_t kRowBytes = 10, kEntryBytes = 4;  // before base64

/// Numbers as stored in a file: little-endian, in base64.
std::string packed(const auto& values) {
  const std::span bytes = std::as_bytes(std::span(values));
  return encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The `most` largest weights of each row (negative: all), with relative error 1.3e-4, and the sum
/// of the others, which the page spreads evenly. For a row that does not see one run of keys, all
/// weights are listed. Throws kUnsupported for more than 65,535 keys, and for NaN.
HeldWeightsAnswer held_weights(const LayerAttention& layer, int head, std::int64_t most);

/// As many as fit in 4 MB and a few seconds of work, stack after stack.
std::vector<HeldAtlasAnswer> held_atlas(const LiveSession& session,
                                        const std::vector<HeldStackAnswer>& held);

/// By the path of the page's question: JSON, lines of JSON for a branch, base64 of numbers. Empty
/// for other views. Without a model: heads, and flows by rollout.
std::map<std::string, std::string> held_answers(LiveSession& session, const ViewAddress& view);

}  // namespace heed
