// The address of a view, which the page shows behind # and the command line takes as --view:
// look/L2.H4+H1/i=17/j=3/range=2-9/to=1/units=word/scale=sqrt
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/models/model.h"

namespace heed {

struct ViewAddress {
  std::string view = "look";
  int layer = 0;
  std::vector<int> heads = {0};  // the first is shaded in the text and drawn as the matrix
  std::optional<std::int64_t> query = {};
  std::optional<std::int64_t> key = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> range = {};  // both ends included
  std::vector<std::string> settings = {};  // to=1, units=word, scale=sqrt: how it is drawn
};

/// Errors (kInvalidArgument) name the part that is wrong and what was expected.
ViewAddress parse_view(std::string_view address);

/// Throws unless the model has the layer, the heads and the scores, and a text of `tokens` the
/// positions.
void check_view(const ViewAddress& view, std::string_view model, const ModelInfo& info,
                std::int64_t tokens);

std::string format_view(const ViewAddress& view);

}  // namespace heed
