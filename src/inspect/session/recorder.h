// Keeps what a session keeps of its pass.
#pragma once

#include "heed/inspect/session.h"

namespace heed {

/// Whether the stream between attention and MLP is kept, too: where it is small.
bool keeps_middle(const ModelInfo& info, std::int64_t tokens);

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
  void keep(const TapName& name, const AttentionArgs& args, Tensor lse, Tensor lse_low,
            std::vector<LayerAttention>& layers) const;

  Session& session_;
  const SessionOptions& options_;
};

}  // namespace heed
