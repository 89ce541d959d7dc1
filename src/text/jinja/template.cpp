#include "text/jinja/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/wording.h"
#include "text/jinja/functions.h"
#include "text/jinja/syntax.h"
#include "text/utf8.h"

namespace heed {
namespace jinja {
namespace {

// The variables set in a body, and the enclosing scope.
struct Scope {
  Members names = {};
  std::shared_ptr<Scope> outer = {};
};

enum class Leap : std::uint8_t { kNone, kBreak, kContinue };

class Evaluator {
 public:
  explicit Evaluator(const Json& variables) : scope_(std::make_shared<Scope>()) {
    for (const auto& [name, value] : variables.members())
      scope_->names.emplace_back(name, Value::of(value));
  }

  std::string run(const std::vector<Statement>& statements) {
    run_all(statements);
    return std::move(out_);
  }

 private:
  // Restores a scope, an output or a depth.
  template <typename T>
  class Restored {
   public:
    explicit Restored(T& place) : place_(place), before_(place) {}
    Restored(T& place, T now) : place_(place), before_(std::exchange(place, std::move(now))) {}
    ~Restored() { place_ = std::move(before_); }
    Restored& operator=(Restored&&) = delete;

   private:
    T& place_;
    T before_;
  };

  std::shared_ptr<Scope> inner() const { return std::make_shared<Scope>(Scope{.outer = scope_}); }

  void deepen() {
    constexpr int kMost = 1000;  // about 1 KB of stack each
    if (++depth_ > kMost) refuse("calls in calls of more than 1000 levels", "fewer");
  }

  void spend(std::int64_t bytes) {
    left_ -= bytes;
    if (left_ < 0) refuse("more work than a chat needs", "a template that ends sooner");
  }

  // Gives an error the line of the innermost part that failed.
  auto in_line(int line, const auto& work) {
    const Restored<int> depth(depth_);
    return reworded(
        [&] {
          deepen();
          spend(64);
          return work();
        },
        [&](ErrorParts& parts) {
          if (parts.place.empty()) parts.place = fmt::format("line {}", line);
        });
  }

  Leap run_all(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements)
      if (const Leap leap = in_line(statement.line, [&] { return run(statement); });
          leap != Leap::kNone)
        return leap;
    return Leap::kNone;
  }

  Leap run_in(std::shared_ptr<Scope> scope, const std::vector<Statement>& statements) {
    const Restored<std::shared_ptr<Scope>> outer(scope_, std::move(scope));
    return run_all(statements);
  }

  // The text that a body produces.
  std::string written(std::shared_ptr<Scope> scope, const std::vector<Statement>& body) {
    const Restored<std::string> outer(out_, "");
    run_in(std::move(scope), body);
    return std::exchange(out_, "");
  }

  void write(std::string_view text) {
    require_size(std::ssize(out_) + std::ssize(text));
    spend(std::ssize(text));
    out_ += text;
  }

  Leap run(const Statement& statement) {
    switch (statement.action) {
      case Action::kText:
        write(statement.text);
        break;
      case Action::kOutput:
        write(as_text(evaluate(*statement.value)));
        break;
      case Action::kIf:
        return run_all(evaluate(*statement.value).truth() ? statement.body : statement.otherwise);
      case Action::kFor:
        return run_for(statement);
      case Action::kSet:
        set(statement, evaluate(*statement.value));
        break;
      case Action::kSetBlock:
        set_block(statement);
        break;
      case Action::kMacro:
        define(statement);
        break;
      case Action::kWith:
        run_with(statement);
        break;
      case Action::kBody:
        write(written(inner(), statement.body));
        break;
      case Action::kBreak:
        return Leap::kBreak;
      case Action::kContinue:
        return Leap::kContinue;
    }
    return Leap::kNone;
  }

  void bind(Scope& scope, const std::vector<std::string>& names, Value value) {
    if (names.size() == 1) return jinja::set(scope.names, names.front(), std::move(value));
    const Values items = items_of(value);
    if (items.size() != names.size())
      refuse(fmt::format("{} values", items.size()),
             fmt::format("{}, one for each name", names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) jinja::set(scope.names, names[i], items[i]);
  }

  void set(const Statement& statement, Value value) {
    if (statement.text.empty()) return bind(*scope_, statement.names, std::move(value));
    const Value object = look_up(statement.text);
    Mapping* members = object.mapping();
    if (members == nullptr || members->kind != Kind::kNamespace)
      refuse(fmt::format("a member of {} is set", object.type()), "of a namespace");
    if (value.nesting().has_object) refuse("a namespace in a namespace", "another value");
    jinja::set(members->members, statement.names.front(), std::move(value));
  }

  void set_block(const Statement& statement) {
    Value text = written(inner(), statement.body);
    set(statement, statement.filter ? filter(*statement.filter, &text) : std::move(text));
  }

  void run_with(const Statement& statement) {
    const std::shared_ptr<Scope> scope = inner();
    for (std::size_t i = 0; i < statement.names.size(); ++i)
      jinja::set(scope->names, statement.names[i], evaluate(*statement.defaults[i]));
    run_in(scope, statement.body);
  }

  Values loop_items(const Statement& statement) {
    Values items = items_of(evaluate(*statement.value));
    if (!statement.filter) return items;
    Values taken;
    for (Value& item : items) {
      spend(1024);
      const Restored<std::shared_ptr<Scope>> outer(scope_, inner());
      bind(*scope_, statement.names, item);
      if (evaluate(*statement.filter).truth()) taken.push_back(std::move(item));
    }
    return taken;
  }

  static Value loop_of(const Values& items, std::size_t place) {
    const std::int64_t index = static_cast<std::int64_t>(place), length = std::ssize(items);
    const auto cycle = [index](const Arguments& given) -> Value {
      if (given.positional.empty()) refuse("cycle of nothing", "values");
      return given.positional[static_cast<std::size_t>(index) % given.positional.size()];
    };
    return Mapping{.members = {{"index", index + 1},
                               {"index0", index},
                               {"revindex", length - index},
                               {"revindex0", length - index - 1},
                               {"first", index == 0},
                               {"last", index == length - 1},
                               {"length", length},
                               {"depth", std::int64_t{1}},
                               {"depth0", std::int64_t{0}},
                               {"cycle", Function{"cycle", cycle}},
                               {"previtem", index == 0 ? Value() : items[place - 1]},
                               {"nextitem", index == length - 1 ? Value() : items[place + 1]}},
                   .kind = Kind::kLoop};
  }

  Leap run_for(const Statement& statement) {
    const Values items = loop_items(statement);
    if (items.empty()) return run_in(inner(), statement.otherwise);
    for (std::size_t i = 0; i < items.size(); ++i) {
      spend(1024);
      const std::shared_ptr<Scope> scope = inner();
      scope->names.emplace_back("loop", loop_of(items, i));
      bind(*scope, statement.names, items[i]);
      if (run_in(scope, statement.body) == Leap::kBreak) break;
    }
    return Leap::kNone;
  }

  void define(const Statement& macro) {
    const std::weak_ptr<Scope> around = scope_;
    jinja::set(scope_->names, macro.text,
               Function{macro.text, [this, &macro, around](const Arguments& given) {
                          return call_macro(macro, around.lock(), given);
                        }});
  }

  Value call_macro(const Statement& macro, const std::shared_ptr<Scope>& around,
                   const Arguments& given) {
    if (!around) refuse("a macro of a body that has ended", "one that is still defined");
    const auto scope = std::make_shared<Scope>(Scope{.outer = around});
    const std::size_t count = macro.names.size(), plain = count - macro.defaults.size();
    if (given.positional.size() > count)
      refuse(fmt::format("{} arguments", given.positional.size()),
             fmt::format("at most {}", count));
    for (const auto& [name, value] : given.named)
      if (std::ranges::find(macro.names, name) == macro.names.end())
        refuse(fmt::format("an argument '{}'", name), "a parameter of the macro");
    const Restored<std::shared_ptr<Scope>> outer(scope_, scope);
    for (std::size_t i = 0; i < count; ++i) {
      const Value* own = given.find(i, macro.names[i]);
      Value value = own != nullptr ? *own
                    : i >= plain   ? evaluate(*macro.defaults[i - plain])
                                   : Undefined{macro.names[i]};
      jinja::set(scope->names, macro.names[i], std::move(value));
    }
    return written(scope, macro.body);
  }

  Value look_up(const std::string& name) const {
    for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->outer.get())
      if (const Value* found = find(scope->names, name)) return *found;
    return global(name);
  }

  Value evaluate(const Expression& expression) {
    return in_line(expression.line, [&] { return value_of(expression); });
  }
  Value part(const Expression& expression, std::size_t index) {
    const ExpressionPtr& own = expression.parts[index];
    return own ? evaluate(*own) : Value(nullptr);
  }

  Value made(Value value) {
    spend(value.nesting().size);
    return value;
  }

  Value value_of(const Expression& own) {
    switch (own.form) {
      case Form::kConstant:
        return own.constant;
      case Form::kName:
        return look_up(own.name);
      case Form::kList:
      case Form::kTuple:
        return sequence(own);
      case Form::kDict:
        return dictionary(own);
      case Form::kMember:
        return member_of(own);
      case Form::kItem:
        return item(part(own, 0), part(own, 1));
      case Form::kSlice:
        return made(slice(part(own, 0), part(own, 1), part(own, 2), part(own, 3)));
      case Form::kCall:
        return call(own);
      case Form::kFilter:
        return filter(own, nullptr);
      case Form::kTest:
        return passes(own.name, part(own, 0), arguments(own));
      case Form::kUnary:
        return unary(own);
      case Form::kBinary:
        return binary(own);
      case Form::kCompare:
        return compare(own);
      case Form::kAnd:
      case Form::kOr:
        return either(own);
      case Form::kCondition:
        return condition(own);
    }
    return {};
  }

  Value sequence(const Expression& own) {
    List list = {.kind = own.form == Form::kTuple ? Sequence::kTuple : Sequence::kList};
    for (std::size_t i = 0; i < own.parts.size(); ++i) list.items.push_back(part(own, i));
    return made(std::move(list));
  }

  Value dictionary(const Expression& own) {
    Mapping mapping;
    for (std::size_t i = 0; i < own.parts.size(); i += 2) {
      const Value key = part(own, i);
      if (key.text() == nullptr) not_served("a key of the type", key.type());
      jinja::set(mapping.members, *key.text(), part(own, i + 1));
    }
    return made(std::move(mapping));
  }

  Value member_of(const Expression& own) {
    const Value value = part(own, 0);
    if (value.mapping() == nullptr || value.dict() != nullptr) return member(value, own.name);
    const Value* found = find(value.mapping()->members, own.name);
    if (found != nullptr) return *found;
    if (value.mapping()->kind == Kind::kLoop && own.name == "changed")
      not_served("a member of loop", own.name);
    return Undefined{own.name};
  }

  Arguments arguments(const Expression& own) {
    Arguments all;
    for (std::size_t i = 1; i < own.parts.size(); ++i) all.positional.push_back(part(own, i));
    for (const auto& [name, value] : own.named) all.named.emplace_back(name, evaluate(*value));
    return all;
  }

  Value call(const Expression& own) {
    const Value callee = part(own, 0);
    if (callee.is_undefined()) refuse_undefined(*callee.undefined());
    if (callee.function() == nullptr)
      refuse(fmt::format("{} is called", callee.type()), "a function");
    return made(callee.function()->call(arguments(own)));
  }

  // `block`: the text for a filter without a value before it.
  Value filter(const Expression& own, const Value* block) {
    const ExpressionPtr& first = own.parts.front();
    const Value value = !first             ? *block
                        : block != nullptr ? filter(*first, block)
                                           : evaluate(*first);
    spend(value.nesting().size);
    return made(filtered(own.name, value, arguments(own)));
  }

  Value unary(const Expression& own) {
    const Value value = part(own, 0);
    if (own.name == "not") return !value.truth();
    return own.name == "-" ? negated(value) : computed("+", std::int64_t{0}, value);
  }

  Value binary(const Expression& own) {
    const Value left = part(own, 0), right = part(own, 1);
    spend(left.nesting().size);
    return made(computed(own.name, left, right));
  }

  bool holds(std::string_view sign, const Value& a, const Value& b) {
    spend(a.nesting().size + b.nesting().size);
    if (sign == "==" || sign == "!=") return equal(a, b) == (sign == "==");
    if (sign == "in" || sign == "not in") return contains(b, a) == (sign == "in");
    if (sign == "<" || sign == ">=") return less(a, b) == (sign == "<");
    return less(b, a) == (sign == ">");
  }

  Value compare(const Expression& own) {
    Value left = part(own, 0);
    for (std::size_t i = 0; i < own.operators.size(); ++i) {
      Value right = part(own, i + 1);
      if (!holds(own.operators[i], left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

  Value either(const Expression& own) {
    Value left = part(own, 0);
    return left.truth() == (own.form == Form::kOr) ? left : part(own, 1);
  }

  Value condition(const Expression& own) {
    if (part(own, 0).truth()) return part(own, 1);
    return own.parts[2] ? part(own, 2) : Value();
  }

  std::shared_ptr<Scope> scope_;
  std::string out_;
  int depth_ = 0;
  std::int64_t left_ =
      std::int64_t{1}
      << 32;  // bytes that may be produced; a step counts as 64, a loop iteration as 1024
};

}  // namespace
}  // namespace jinja

std::string render_template(std::string_view source, const Json& variables,
                            const std::string& file) {
  return reworded(
      [&] {
        require_utf8(source);
        return jinja::Evaluator(variables).run(jinja::parse(source));
      },
      [&](ErrorParts& parts) { parts.file = file; });
}

}  // namespace heed
