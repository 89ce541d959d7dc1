// The statements of a template.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace heed::jinja {
namespace {

using Ends = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}

  std::vector<Statement> run() { return body({}); }

 private:
  // Up to a block with one of these names, whose name is then the next token.
  std::vector<Statement> body(Ends ends) {
    constexpr int kMost = 100;  // each elif adds one
    if (++depth_ > kMost) tokens_.refuse("blocks of at most 100 levels");
    std::vector<Statement> statements;
    while (!at_end(ends)) statements.push_back(statement());
    --depth_;
    return statements;
  }

  bool at_end(Ends ends) {
    if (tokens_.is(TokenKind::kEnd)) {
      if (ends.size() > 0) tokens_.refuse(fmt::format("{{% {} %}}", *(ends.end() - 1)));
      return true;
    }
    if (!tokens_.is(TokenKind::kBlockBegin)) return false;
    if (std::ranges::find(ends, tokens_.next().text) == ends.end()) return false;
    tokens_.take();
    return true;
  }

  Statement statement() {
    Statement own;
    own.line = tokens_.now().line;
    if (tokens_.is(TokenKind::kText)) {
      own.text = tokens_.take().text;
    } else if (tokens_.is(TokenKind::kOutputBegin)) {
      tokens_.take();
      own.action = Action::kOutput;
      own.value = read_tuple(tokens_, /*has_condition=*/true);
      tokens_.expect(TokenKind::kOutputEnd, "'}}'");
    } else {
      tokens_.take();
      block(own);
    }
    return own;
  }

  void end_block() { tokens_.expect(TokenKind::kBlockEnd, "'%}'"); }
  // After body(): reads the name of the block that ends it.
  void end_body() {
    tokens_.take();
    end_block();
  }

  void block(Statement& own) {
    using Read = void (Parser::*)(Statement&);
    constexpr std::array<std::pair<std::string_view, Read>, 8> kBlocks = {
        {{"if", &Parser::read_if},
         {"for", &Parser::read_for},
         {"set", &Parser::read_set},
         {"macro", &Parser::read_macro},
         {"with", &Parser::read_with},
         {"generation", &Parser::read_generation},
         {"break", &Parser::read_break},
         {"continue", &Parser::read_continue}}};
    const Token name = tokens_.expect(TokenKind::kName, "a block's name");
    for (const auto& [known, read] : kBlocks)
      if (name.text == known) return (this->*read)(own);
    constexpr std::array<std::string_view, 10> kOthers = {
        "call",   "filter", "block",      "extends", "include",
        "import", "from",   "autoescape", "trans",   "do"};
    const bool is_known = std::ranges::find(kOthers, name.text) != kOthers.end();
    refuse_in_line(name.line, fmt::format("a block '{}'", name.text),
                   is_known ? "one that heed's templates have: if, for, set, macro, with, "
                              "generation, break, continue"
                            : "a block of Jinja that may stand here",
                   is_known ? ErrorCode::kUnsupported : ErrorCode::kCorrupt);
  }

  void read_if(Statement& own) {
    own.action = Action::kIf;
    own.value = read_tuple(tokens_, /*has_condition=*/false);
    end_block();
    own.body = body({"elif", "else", "endif"});
    const Token end = tokens_.take();
    if (end.text == "elif") {
      own.otherwise.resize(1);
      own.otherwise.front().line = end.line;
      ++depth_;
      read_if(own.otherwise.front());  // which reads endif
      --depth_;
      return;
    }
    end_block();
    if (end.text == "endif") return;
    own.otherwise = body({"endif"});
    end_body();
  }

  std::vector<std::string> targets(std::string_view what) {
    std::vector<std::string> names;
    const bool has_parentheses = tokens_.skip_operator("(");
    do {
      names.push_back(tokens_.expect(TokenKind::kName, what).text);
    } while (tokens_.skip_operator(","));
    if (has_parentheses) tokens_.expect_operator(")");
    return names;
  }

  void read_for(Statement& own) {
    own.action = Action::kFor;
    own.names = targets("a variable's name");
    if (!tokens_.skip_name("in")) tokens_.refuse("'in'");
    own.value = read_tuple(tokens_, /*has_condition=*/false);
    if (tokens_.skip_name("if")) own.filter = read_expression(tokens_);
    if (tokens_.is_name("recursive"))
      refuse_in_line(own.line, "a recursive loop", "one without", ErrorCode::kUnsupported);
    end_block();
    const bool was_in_loop = std::exchange(in_loop_, true);
    own.body = body({"else", "endfor"});
    in_loop_ = was_in_loop;
    const bool has_else = tokens_.take().text == "else";
    end_block();
    if (!has_else) return;
    own.otherwise = body({"endfor"});
    end_body();
  }

  void read_set(Statement& own) {
    own.action = Action::kSet;
    own.names = targets("a variable's name");
    if (own.names.size() == 1 && tokens_.skip_operator(".")) {
      own.text = std::move(own.names.front());
      own.names.front() = tokens_.expect(TokenKind::kName, "a member's name").text;
    }
    if (tokens_.skip_operator("=")) {
      own.value = read_tuple(tokens_, /*has_condition=*/true);
      return end_block();
    }
    own.action = Action::kSetBlock;
    if (tokens_.is_operator("|")) own.filter = read_filters(tokens_);
    end_block();
    own.body = body({"endset"});
    end_body();
  }

  void read_macro(Statement& own) {
    own.action = Action::kMacro;
    own.text = tokens_.expect(TokenKind::kName, "the macro's name").text;
    tokens_.read_between("(", ")", [&] {
      own.names.push_back(tokens_.expect(TokenKind::kName, "a parameter's name").text);
      if (tokens_.skip_operator("="))
        own.defaults.push_back(read_expression(tokens_));
      else if (!own.defaults.empty())
        tokens_.refuse("a default, as of the parameter before it");
    });
    end_block();
    const bool was_in_loop = std::exchange(in_loop_, false);
    own.body = body({"endmacro"});
    in_loop_ = was_in_loop;
    end_body();
  }

  void read_with(Statement& own) {
    own.action = Action::kWith;
    while (tokens_.is(TokenKind::kName)) {
      own.names.push_back(tokens_.take().text);
      tokens_.expect_operator("=");
      own.defaults.push_back(read_expression(tokens_));
      if (!tokens_.skip_operator(",")) break;
    }
    end_block();
    own.body = body({"endwith"});
    end_body();
  }

  void read_generation(Statement& own) {
    own.action = Action::kBody;
    end_block();
    own.body = body({"endgeneration"});
    end_body();
  }

  void read_break(Statement& own) { read_leap(own, Action::kBreak); }
  void read_continue(Statement& own) { read_leap(own, Action::kContinue); }
  void read_leap(Statement& own, Action action) {
    own.action = action;
    if (!in_loop_) refuse_in_line(own.line, "break or continue outside of a loop", "it in a loop");
    end_block();
  }

  TokenStream tokens_;
  int depth_ = 0;
  bool in_loop_ = false;
};

}  // namespace

std::vector<Statement> parse(std::string_view source) { return Parser(source).run(); }

}  // namespace heed::jinja
