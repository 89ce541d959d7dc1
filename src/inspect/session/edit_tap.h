// How a session's edits reach into its pass.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "heed/inspect/session.h"
#include "tensor/views.h"

namespace heed {

/// Heads that are ablated give 0, patched ones what they give elsewhere; edges, hidden tokens and
/// added masks close keys by head. A layer whose scores are those of another run, scaled or steered
/// is computed again. What
/// `next` does follows, and it sees what the edits left.
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
  Tensor q_, k_, slopes_;  // what the arguments of an attention look at
  KeptView bias_;
  Attended edited_;  // of other scores, until the heads take its output
};

/// What `session`'s edits close in one layer, beside the family's own mask.
Mask edit_mask(const Session& session, Stack stack, int layer);

}  // namespace heed
