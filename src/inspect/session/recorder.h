// Records the activations of a pass that a session keeps.
#pragma once

#include "heed/session.h"

namespace heed {

/// Whether the residual stream between attention and MLP is kept, too: only if it is small.
bool keeps_middle(const ModelInfo& info, std::int64_t tokens);

/// Copies q, k, v and the log-sum-exp of each attention, and what the options ask for, while the
/// pass runs.
class Recorder final : public Tap {
 public:
  /// Both arguments must outlive the recorder.
  Recorder(Session& session, const SessionOptions& options)
      : session_(session), options_(options) {}

  void at(const TapName& name, View value) override;
  void attended(const TapName& name, const AttentionArgs& args,
                const AttendedConstView& attended) override;

 private:
  void check_stop() const;
  void keep(const TapName& name, const AttentionArgs& args, Tensor lse, Tensor lse_low,
            std::vector<LayerAttention>& layers) const;

  Session& session_;
  const SessionOptions& options_;
};

}  // namespace heed
