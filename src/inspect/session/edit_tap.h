// Applies a session's edits while its pass runs.
#pragma once

#include "heed/session.h"
#include "tensor/views.h"

namespace heed {

/// Ablated heads give 0, and patched heads give their output of another run. Removed edges, hidden
/// tokens and added masks hide keys per head. A layer whose scores are frozen, scaled or steered is
/// computed again. `next` runs afterwards and sees the edited activations.
class EditTap final : public Tap {
 public:
  /// Both must outlive the tap; `next` may be null.
  EditTap(const Session& session, Tap* next);

  void at(const TapName& name, View value) override;
  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override;
  Mask mask(Stack stack, int layer) override;

 private:
  void patch(const TapName& name, const View& value) const;
  bool changes_scores(const TapName& name) const;
  void freeze(const TapName& name, AttentionArgs& args);
  void temper(const TapName& name, AttentionArgs& args);
  void steer(const TapName& name, AttentionArgs& args);

  const Session& session_;
  Tap* next_;
  Tensor q_, k_, slopes_;  // memory that the arguments of an attention refer to
  KeptView bias_;
  Attended edited_;  // the attention over edited scores, until the heads take its output
};

/// Returns the mask of what `session`'s edits hide in one layer, besides the family's own mask.
Mask edit_mask(const Session& session, Stack stack, int layer);

}  // namespace heed
