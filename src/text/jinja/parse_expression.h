// The expressions of a template.
#pragma once

#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace heed::jinja {

ExpressionPtr read_expression(TokenStream& tokens);
/// One expression, or several separated by commas: a tuple. Without a condition, "if" ends it.
ExpressionPtr read_tuple(TokenStream& tokens, bool has_condition);
/// Filters without a value before them, for a `set` block.
ExpressionPtr read_filters(TokenStream& tokens);

}  // namespace heed::jinja
