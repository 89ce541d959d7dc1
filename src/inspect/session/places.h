// The stacks, layers and heads that a request names, checked against those that a model has and a
// session keeps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "heed/session.h"

namespace heed {

/// Throw kNotFound for what does not exist, and list what `model` has; `op` begins the message.
const StackShape& find_stack(std::string_view op, std::string_view model,
                             std::span<const StackShape> shapes, Stack stack);
void check_layer(std::string_view op, std::string_view model, const StackShape& shape,
                 std::int64_t layer);
void check_head(std::string_view op, std::string_view model, const StackShape& shape,
                std::int64_t head);

/// Throws kNotFound unless `token` is one of `count`; `name` says which token it is.
void check_token(std::string_view op, std::string_view name, std::int64_t token,
                 std::int64_t count);

/// Reads "8-12" or "0,8-12". Throws kInvalidArgument for `keep_layers`.
std::vector<int> read_layers(std::string_view text);
/// "0, 8 to 12".
std::string layers_text(std::span<const int> layers);
/// "6 layers x 8 heads"; "6 layers, 2 with attention, x 8 heads".
std::string heads_text(const StackShape& shape);

/// Throws where the session is to keep what its model does not have.
void check_kept(const Session& session);

}  // namespace heed
