// Questions about a session, each with the struct that answers it.
#pragma once

#include <exception>

#include "inspect/answers/heads.h"
#include "inspect/answers/live_session.h"
#include "inspect/answers/models.h"
#include "inspect/answers/rows.h"
#include "inspect/answers/why.h"
#include "inspect/answers/words.h"
#include "inspect/rows/lines.h"

namespace heed {

ModelAnswer answer_model(const std::string& name, bool built_in, const ModelInfo& info);
ModelAnswer answer_model(const LoadedModel& model);
/// For a session without a model.
ModelAnswer answer_model(const Session& session);
/// The scores that heads of some stack can have.
std::vector<ScoreAnswer> answer_scores(const std::vector<StackShape>& shapes);

ApiErrorAnswer answer_error(std::exception_ptr exception);
SessionAnswer answer_session(const LiveSession& session);
ChosenAnswer answer_chosen(const ChosenHead& chosen);
/// The finished statistics of a layer.
LayerHeadsAnswer answer_layer(const LiveSession& session, Stack stack, int layer);
/// The finished layers of a stack, or one of them.
HeadsAnswer answer_heads(const LiveSession& session, Stack stack, std::optional<int> layer);
/// The `top` next words after a position.
NextAnswer answer_next(const LiveSession& session, Stack stack, std::int64_t position,
                       std::int64_t top);

WordAnswer answer_word(const NextWord& word);
/// The same from the residual stream, for any position and any number of words; `masked`: with the
/// token at the position masked.
NextAnswer answer_words_at(const LiveSession& session, Stack stack, std::int64_t position,
                           std::int64_t top, bool masked = false,
                           const std::atomic<bool>* stopped = nullptr);
/// The logits of all words at that position.
std::vector<float> word_logits(const LiveSession& session, std::int64_t position, bool masked,
                               const std::atomic<bool>* stopped = nullptr);

/// Throws kUnsupported if the session's words are not available: it has no model, or the model has
/// no vocabulary.
void require_words(const char* op, const LiveSession& session);

using Check = std::function<void()>;  // called between pieces of work; may throw

/// How likely each token was.
WordsAnswer answer_words(const LiveSession& session, Stack stack, const Check& check);
LensAnswer answer_lens(const LiveSession& session, Stack stack, const LensRequest& request,
                       const Check& check);
/// The output of an encoder-decoder by itself: all texts of a beam search.
BeamsAnswer answer_beams(const LiveSession& session, std::int64_t beams, std::int64_t most_tokens,
                         const Check& check);

/// How a flow's moves are weighted.
enum class FlowBy : std::uint8_t { kRollout, kEffect };
FlowAnswer answer_flow(const LiveSession& session, const FlowRequest& request, FlowBy by,
                       const Check& check, const OnFlowWork& told = {});
FlowTestAnswer answer_flow_test(const LiveSession& session, const FlowRequest& request,
                                const Check& check, const OnFlowWork& told = {});
/// A head's scores of kind `from`, which must not be kText, because those come with the statistics.
LateScoresAnswer answer_late(LiveSession& session, const Place& place, ScoreFrom from,
                             Cancel& cancel);
EvidenceAnswer answer_evidence(LiveSession& session, const EvidenceRequest& request,
                               std::optional<Place> against, Cancel& cancel);
SimilarAnswer answer_similar(const LiveSession& session, Stack stack, const PatternExample& example,
                             Cancel& cancel);
/// `from` is A and the session B.
AlignmentAnswer answer_alignment(const LiveSession& session, const LiveSession& from);
/// Throws kInvalidArgument if the sessions differ in heads, or differ in the number of tokens and
/// cannot be aligned by words.
void check_same_heads(const LiveSession& session, const LiveSession& from, Stack stack);
/// A head's change is the mean over rows of sum_j |p_ij - p'_ij| / 2: the share of a row's weight
/// that moves to other keys, 0 to 1. A long text is compared at 512 rows. Texts that differ in
/// length are compared by aligned tokens. The sessions must have passed `check_same_heads`.
ChangesAnswer answer_changes(const LiveSession& session, const LiveSession& from, Stack stack,
                             Cancel& cancel);

/// Rows or columns [begin, end) of one head. `rule` selects the keys with an arc.
struct LineRequest {
  Place place;
  Quantity quantity = Quantity::kWeight;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  LargestRule rule = {};
};
/// The mean over rows, or the sum over columns.
RowAnswer answer_row(const LiveSession& session, const LineRequest& request, Cancel& cancel);
ColumnAnswer answer_column(const LiveSession& session, const LineRequest& request, Cancel& cancel);

struct EdgesRequest {
  Stack stack = Stack::kSelf;
  int layer = 0;
  Quantity quantity = Quantity::kWeight;
  std::vector<int> heads = {};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  LargestRule rule = {};
};
EdgesAnswer answer_edges(const LiveSession& session, const EdgesRequest& request, Cancel& cancel);

MarginalsAnswer answer_marginals(const Place& place, const Margins& margins);
CellAnswer answer_cell(const LiveSession& session, const Place& place, std::int64_t query,
                       std::int64_t key);

struct WhyRequest {
  Place place;
  std::int64_t query = 0, key = 0;
};
WhyAnswer answer_why(const LiveSession& session, const WhyRequest& request);
OriginsAnswer answer_origins(const LiveSession& session, const OriginsRequest& request);
Effect answer_effect(const LiveSession& session, const WhyRequest& request, std::int64_t top);
/// The output that edits at a query of this stack affect, with and without them.
TrialAnswer answer_trial(const LiveSession& session, const Edits& edits, const WhyRequest& at,
                         std::int64_t top);
Anatomy answer_anatomy(const LiveSession& session, const WhyRequest& window);
Dimensions answer_dimensions(const LiveSession& session, const DimensionsRequest& request,
                             Cancel& cancel);
Geometry answer_geometry(const LiveSession& session, const GeometryRequest& request,
                         Cancel& cancel);

}  // namespace heed
