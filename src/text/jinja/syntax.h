// A template as a tree of statements and expressions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace heed::jinja {

enum class Form : std::uint8_t {
  kConstant,
  kName,
  kList,
  kTuple,
  kDict,     // parts: key, value, key, value
  kMember,   // parts[0].name
  kItem,     // parts[0][parts[1]]
  kSlice,    // parts[0][parts[1]:parts[2]:parts[3]]; an omitted part is null
  kCall,     // parts[0](parts[1], ..., named)
  kFilter,   // parts[0] | name(parts[1], ..., named); in a `set` block parts[0] is null
  kTest,     // parts[0] is name(parts[1], ..., named)
  kUnary,    // name parts[0]: - + not
  kBinary,   // parts[0] name parts[1]: + - * / // % ** ~
  kCompare,  // parts[0] names[0] parts[1] names[1] parts[2] ...
  kAnd,      // parts[0] and parts[1]
  kOr,
  kCondition,  // parts[1] if parts[0] else parts[2], which may be null
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  Form form = Form::kConstant;
  int line = 1;
  int height = 1;
  std::string name = {};
  Value constant = {};
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};  // arguments
  std::vector<std::string> operators = {};                        // of a comparison
};

enum class Action : std::uint8_t {
  kText,
  kOutput,
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kWith,
  kBody,  // {% generation %}: only its body
  kBreak,
  kContinue,
};

struct Statement {
  Action action = Action::kText;
  int line = 1;
  std::string text = {};                // the text; the macro's name; the namespace of `set a.b`
  std::vector<std::string> names = {};  // set names: loop variables, parameters, `b` of `set a.b`
  ExpressionPtr value = {};             // the output, the condition, the iterated or assigned value
  ExpressionPtr filter = {};            // in a loop: which items it takes; in a block: its filters
  std::vector<ExpressionPtr> defaults = {};  // of the last parameters, of the names of `with`
  std::vector<Statement> body = {};
  std::vector<Statement> otherwise = {};
};

class TokenStream;

ExpressionPtr read_expression(TokenStream& tokens);
/// One expression, or several separated by commas: a tuple. Without a condition, "if" ends it.
ExpressionPtr read_tuple(TokenStream& tokens, bool has_condition);
/// Filters without a value before them, for a `set` block.
ExpressionPtr read_filters(TokenStream& tokens);

/// Errors are kCorrupt, or kUnsupported for unsupported features, with the line as place.
std::vector<Statement> parse(std::string_view source);

}  // namespace heed::jinja
