// The filters, tests, methods and functions available to templates.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace heed::jinja {

/// Throws if the filter or test is unknown, or its arguments are wrong.
Value filtered(std::string_view filter, const Value& value, const Arguments& arguments);
bool passes(std::string_view test, const Value& value, const Arguments& arguments);

/// `value.name`: a method, or a member of a dictionary or namespace; undefined if there is neither.
Value member(const Value& value, const std::string& name);
/// `value[key]`.
Value item(const Value& value, const Value& key);
/// value[first:last:step]; each may be none.
Value slice(const Value& value, const Value& first, const Value& last, const Value& step);

/// A method of a text, list or dictionary; undefined if it has none of that name.
Value method(const Value& value, const std::string& name);

/// range, dict, namespace, raise_exception and strftime_now; otherwise undefined.
Value global(const std::string& name);

/// a + b and other operators.
Value computed(std::string_view sign, const Value& a, const Value& b);
Value negated(const Value& value);

}  // namespace heed::jinja
