// The expressions of a template.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/numbers.h"
#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace heed::jinja {
namespace {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr expression() {
    const Level level(*this);
    ExpressionPtr value = either();
    while (tokens_.skip_name("if")) {
      ExpressionPtr condition = either();
      ExpressionPtr chosen = made(Form::kCondition, "", std::move(condition), std::move(value));
      put(*chosen, tokens_.skip_name("else") ? expression() : nullptr);
      value = std::move(chosen);
    }
    return value;
  }

  ExpressionPtr either() {
    ExpressionPtr left = both();
    while (tokens_.skip_name("or")) left = made(Form::kOr, "", std::move(left), both());
    return left;
  }
  /// One expression, or several separated by commas: a tuple.
  ExpressionPtr tuple(bool has_condition) {
    const auto one = [&] { return has_condition ? expression() : either(); };
    ExpressionPtr first = one();
    if (!tokens_.is_operator(",")) return first;
    ExpressionPtr all = made(Form::kTuple, "", std::move(first));
    while (tokens_.skip_operator(",")) {
      const bool ends = tokens_.is_operator(")") || tokens_.is(TokenKind::kBlockEnd) ||
                        tokens_.is(TokenKind::kOutputEnd);
      if (ends) break;
      put(*all, one());
    }
    return all;
  }

  /// Filters without a value before them, for a `set` block.
  ExpressionPtr filters(ExpressionPtr value) {
    while (tokens_.is_operator("|")) value = filter(std::move(value));
    return value;
  }

 private:
  // Limits nested parentheses, because the parser is recursive.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
      constexpr int kMost = 100;
      if (++parser_.depth_ > kMost) parser_.tokens_.refuse("expressions of at most 100 levels");
    }
    ~Level() { --parser_.depth_; }
    Level& operator=(Level&&) = delete;

   private:
    ExpressionParser& parser_;
  };

  ExpressionPtr both() {
    ExpressionPtr left = negation();
    while (tokens_.skip_name("and")) left = made(Form::kAnd, "", std::move(left), negation());
    return left;
  }
  ExpressionPtr negation() {
    const Level level(*this);
    if (tokens_.skip_name("not")) return made(Form::kUnary, "not", negation());
    return comparison();
  }
  ExpressionPtr comparison() {
    constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", ">=", "<=", ">", "<"};
    ExpressionPtr left = arithmetic(0);
    ExpressionPtr compared;
    while (true) {
      std::string name;
      if (is_one_of(kOperators))
        name = tokens_.take().text;
      else if (tokens_.skip_name("in"))
        name = "in";
      else if (tokens_.is_name("not") && tokens_.next().text == "in" && (tokens_.take(), true))
        name = "not " + tokens_.take().text;
      else
        break;
      if (!compared) compared = made(Form::kCompare, "", std::move(left));
      compared->operators.push_back(std::move(name));
      put(*compared, arithmetic(0));
    }
    return compared ? std::move(compared) : std::move(left);
  }

  // The operators at a level of precedence, from left to right.
  ExpressionPtr arithmetic(std::size_t level) {
    static constexpr std::array<std::array<std::string_view, 4>, 4> kLevels = {
        {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}}};
    if (level == kLevels.size()) return unary(/*has_filters=*/true);
    ExpressionPtr left = arithmetic(level + 1);
    while (is_one_of(kLevels[level])) {
      std::string name = tokens_.take().text;
      left = made(Form::kBinary, std::move(name), std::move(left), arithmetic(level + 1));
    }
    return left;
  }

  bool is_one_of(const auto& operators) const {
    return tokens_.is(TokenKind::kOperator) &&
           std::ranges::find(operators, tokens_.now().text) != operators.end();
  }
  ExpressionPtr unary(bool has_filters) {
    const Level level(*this);
    ExpressionPtr value;
    if (tokens_.is_operator("-") || tokens_.is_operator("+")) {
      std::string name = tokens_.take().text;
      value = made(Form::kUnary, std::move(name), unary(/*has_filters=*/false));
    } else {
      value = primary();
    }
    value = behind(std::move(value));
    return has_filters ? filters_and_tests(std::move(value)) : std::move(value);
  }

  ExpressionPtr primary() {
    switch (tokens_.now().kind) {
      case TokenKind::kName:
        return name_or_constant();
      case TokenKind::kString:
        return text();
      case TokenKind::kInteger: {
        ExpressionPtr value = made(Form::kConstant);
        const Token token = tokens_.take();
        std::int64_t number = 0;
        if (!read_number(token.text, number))
          refuse_in_line(token.line, token.text, "a number below 2^63");
        value->constant = number;
        return value;
      }
      case TokenKind::kFloat: {
        ExpressionPtr value = made(Form::kConstant);
        value->constant = std::strtod(tokens_.take().text.c_str(), nullptr);
        return value;
      }
      default:
        break;
    }
    if (tokens_.is_operator("(")) return in_parentheses();
    if (tokens_.is_operator("[")) return list();
    if (tokens_.is_operator("{")) return dictionary();
    tokens_.refuse("an expression");
  }

  ExpressionPtr name_or_constant() {
    ExpressionPtr value = made(Form::kConstant);
    std::string name = tokens_.take().text;
    if (name == "true" || name == "True") {
      value->constant = true;
    } else if (name == "false" || name == "False") {
      value->constant = false;
    } else if (name == "none" || name == "None") {
      value->constant = nullptr;
    } else {
      value->form = Form::kName;
      value->name = std::move(name);
    }
    return value;
  }

  // Adjacent texts are joined.
  ExpressionPtr text() {
    ExpressionPtr value = made(Form::kConstant);
    std::string whole;
    while (tokens_.is(TokenKind::kString)) whole += tokens_.take().text;
    value->constant = std::move(whole);
    return value;
  }

  ExpressionPtr in_parentheses() {
    tokens_.expect_operator("(");
    if (tokens_.skip_operator(")")) return made(Form::kTuple);
    ExpressionPtr value = tuple(/*has_condition=*/true);
    tokens_.expect_operator(")");
    return value;
  }

  ExpressionPtr list() {
    ExpressionPtr value = made(Form::kList);
    tokens_.read_between("[", "]", [&] { put(*value, expression()); });
    return value;
  }
  ExpressionPtr dictionary() {
    ExpressionPtr value = made(Form::kDict);
    tokens_.read_between("{", "}", [&] {
      put(*value, expression());
      tokens_.expect_operator(":");
      put(*value, expression());
    });
    return value;
  }

  ExpressionPtr behind(ExpressionPtr value) {
    while (true) {
      if (tokens_.is_operator("."))
        value = member(std::move(value));
      else if (tokens_.is_operator("["))
        value = item(std::move(value));
      else if (tokens_.is_operator("("))
        value = call(std::move(value));
      else
        return value;
    }
  }

  ExpressionPtr member(ExpressionPtr value) {
    tokens_.expect_operator(".");
    if (tokens_.is(TokenKind::kInteger)) {
      ExpressionPtr place = primary();
      return made(Form::kItem, "", std::move(value), std::move(place));
    }
    std::string name = tokens_.expect(TokenKind::kName, "a member's name").text;
    return made(Form::kMember, std::move(name), std::move(value));
  }

  ExpressionPtr item(ExpressionPtr value) {
    tokens_.expect_operator("[");
    ExpressionPtr first = tokens_.is_operator(":") ? nullptr : expression();
    if (tokens_.skip_operator("]"))
      return made(Form::kItem, "", std::move(value), std::move(first));
    ExpressionPtr slice = made(Form::kSlice, "", std::move(value));
    put(*slice, std::move(first));
    for (int part = 0; part < 2; ++part) {
      const bool follows = tokens_.skip_operator(":");
      const bool ends = tokens_.is_operator(":") || tokens_.is_operator("]");
      put(*slice, follows && !ends ? expression() : nullptr);
    }
    tokens_.expect_operator("]");
    return slice;
  }

  ExpressionPtr call(ExpressionPtr value) {
    ExpressionPtr made_call = made(Form::kCall, "", std::move(value));
    arguments(*made_call);
    return made_call;
  }
  ExpressionPtr filters_and_tests(ExpressionPtr value) {
    while (true) {
      if (tokens_.is_operator("|"))
        value = filter(std::move(value));
      else if (tokens_.is_name("is"))
        value = test(std::move(value));
      else if (tokens_.is_operator("("))
        value = call(std::move(value));
      else
        return value;
    }
  }

  ExpressionPtr filter(ExpressionPtr value) {
    tokens_.expect_operator("|");
    ExpressionPtr made_filter = made(Form::kFilter, "", std::move(value));
    made_filter->line = tokens_.now().line;
    made_filter->name = tokens_.expect(TokenKind::kName, "a filter's name").text;
    if (tokens_.is_operator("(")) arguments(*made_filter);
    return made_filter;
  }

  ExpressionPtr test(ExpressionPtr value) {
    tokens_.skip_name("is");
    const bool is_negated = tokens_.skip_name("not");
    ExpressionPtr made_test = made(Form::kTest, "", std::move(value));
    made_test->name = tokens_.expect(TokenKind::kName, "a test's name").text;
    const Token& next = tokens_.now();
    constexpr std::array<std::string_view, 4> kOthers = {"else", "or", "and", "is"};
    if (tokens_.is_operator("(")) {
      arguments(*made_test);
    } else if ((next.kind == TokenKind::kName &&
                std::ranges::find(kOthers, next.text) == kOthers.end()) ||
               next.kind == TokenKind::kString || next.kind == TokenKind::kInteger ||
               next.kind == TokenKind::kFloat || tokens_.is_operator("[") ||
               tokens_.is_operator("{")) {
      put(*made_test, behind(primary()));
    }
    return is_negated ? made(Form::kUnary, "not", std::move(made_test)) : std::move(made_test);
  }

  void arguments(Expression& call) {
    tokens_.read_between("(", ")", [&] {
      if (tokens_.is_operator("*") || tokens_.is_operator("**"))
        refuse_in_line(tokens_.now().line, "arguments from a list (*)", "each by itself",
                       ErrorCode::kUnsupported);
      const bool is_named = tokens_.is(TokenKind::kName) && tokens_.next().text == "=" &&
                            tokens_.next().kind == TokenKind::kOperator;
      if (is_named) {
        std::string name = tokens_.take().text;
        tokens_.expect_operator("=");
        ExpressionPtr value = expression();
        call.height = std::max(call.height, value->height + 1);
        call.named.emplace_back(std::move(name), std::move(value));
      } else if (call.named.empty()) {
        put(call, expression());
      } else {
        tokens_.refuse("an argument with its name, as those before it");
      }
    });
  }

  ExpressionPtr made(Form form, std::string name = {}) const {
    auto expression = std::make_unique<Expression>();
    expression->form = form;
    expression->line = tokens_.now().line;
    expression->name = std::move(name);
    return expression;
  }

  ExpressionPtr made(Form form, std::string name, ExpressionPtr first,
                     ExpressionPtr second = {}) const {
    ExpressionPtr expression = made(form, std::move(name));
    if (first) expression->line = first->line;
    put(*expression, std::move(first));
    if (second) put(*expression, std::move(second));
    return expression;
  }

  void put(Expression& parent, ExpressionPtr child) const {
    constexpr int kMost = 200;  // trees are walked recursively
    if (child) parent.height = std::max(parent.height, child->height + 1);
    if (parent.height > kMost) tokens_.refuse("expressions of at most 200 parts in each other");
    parent.parts.push_back(std::move(child));
  }

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace

ExpressionPtr read_expression(TokenStream& tokens) { return ExpressionParser(tokens).expression(); }

ExpressionPtr read_tuple(TokenStream& tokens, bool has_condition) {
  return ExpressionParser(tokens).tuple(has_condition);
}

ExpressionPtr read_filters(TokenStream& tokens) {
  return ExpressionParser(tokens).filters(nullptr);
}

}  // namespace heed::jinja
