// A flow as a file that programs for graphs open.
#pragma once

#include <string>

#include "inspect/evidence/flow.h"

namespace heed {

enum class GraphFormat : std::uint8_t { kJson, kGraphMl, kDot };

/// Nodes are columns at a level ("5:199": token 199 behind the fifth layer from below; "0:199": the
/// token itself), edges go upward, with the flow's share as `weight`; `by` says what it is. JSON is
/// networkx's node-link form.
std::string flow_graph(const Flow& flow, const Session& session, std::string_view by,
                       GraphFormat format);

}  // namespace heed
