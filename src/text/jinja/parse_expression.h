// The expressions of a template.
#pragma once

#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace heed::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr expression();  // a if b else c
  ExpressionPtr either();      // without "if"
  /// One expression, or several separated by commas: a tuple.
  ExpressionPtr tuple(bool has_condition);
  /// Filters without a value before them, for a `set` block.
  ExpressionPtr filters(ExpressionPtr value);

 private:
  class Level;  // counts nested expressions

  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool has_filters);
  ExpressionPtr primary();
  ExpressionPtr name_or_constant();
  ExpressionPtr text();
  ExpressionPtr in_parentheses();
  ExpressionPtr list();
  ExpressionPtr dictionary();
  ExpressionPtr behind(ExpressionPtr value);  // .name [item] (arguments)
  ExpressionPtr member(ExpressionPtr value);
  ExpressionPtr item(ExpressionPtr value);
  ExpressionPtr call(ExpressionPtr value);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr filter(ExpressionPtr value);
  ExpressionPtr test(ExpressionPtr value);
  void arguments(Expression& call);

  ExpressionPtr made(Form form, std::string name = {}) const;
  ExpressionPtr made(Form form, std::string name, ExpressionPtr first,
                     ExpressionPtr second = {}) const;

  void put(Expression& parent, ExpressionPtr child) const;

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace heed::jinja
