// Keeps what a session keeps of its pass.
#pragma once

#include "heed/inspect/session.h"

namespace heed {

/// Copies what each attention leaves behind, and what the options ask for, while the pass runs.
class Recorder final : public Tap {
 public:
  /// Both must outlive it.
  Recorder(Session& session, const SessionOptions& options)
      : session_(session), options_(options) {}

  void at(const TapName& name, View value) override;
  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override;

 private:
  void check_stop() const;

  Session& session_;
  const SessionOptions& options_;
};

}  // namespace heed
