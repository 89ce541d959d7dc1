// How a session's edits reach into its pass.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Heads that are ablated give 0; edges, hidden tokens and added masks close keys by head. What
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
  const Session& session_;
  Tap* next_;
};

/// What `session`'s edits close in one layer, beside the family's own mask.
Mask edit_mask(const Session& session, Stack stack, int layer);

}  // namespace heed
