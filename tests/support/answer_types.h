// TypeScript types of the answers, from the same descriptions as their JSON: web/src/answers.ts.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

#include "inspect/answers/heads.h"
#include "inspect/answers/models.h"
#include "inspect/answers/rows.h"
#include "inspect/answers/why.h"
#include "inspect/answers/words.h"

namespace heed {

class TypeWriter {
 public:
  template <Described... Answers>
  void declare() {
    (declare_one<Answers>(), ...);
  }
  const std::string& text() const { return text_; }

  template <typename Value>
  void operator()(std::string_view name, const Value&) {
    if constexpr (IsOptional<Value>::value) {
      add(name, "?: ", type_of<typename Value::value_type>());
    } else {
      add(name, ": ", type_of<Value>());
    }
  }
  template <typename Items, typename Make>
  void list(std::string_view name, const Items&, Make) {
    using Item = std::invoke_result_t<Make, const typename Items::value_type&>;
    add(name, ": ", type_of<Item>() + "[]");
  }

 private:
  // Declares the answer's interface, after those that it uses.
  template <Described Answer>
  void declare_one() {
    const std::string name = interface_name<Answer>();
    if (!declared_.insert(name).second) return;
    TypeWriter inner;
    inner.declared_ = std::move(declared_);
    describe(inner, Answer{});
    declared_ = std::move(inner.declared_);
    text_ += inner.text_;
    text_ += fmt::format("export interface {} {{\n{}}}\n\n", name, inner.fields_);
  }

  // "Row" for the struct RowAnswer.
  template <typename Answer>
  static std::string interface_name() {
    std::string_view name = __PRETTY_FUNCTION__;  // "... [with Answer = heed::RowAnswer; ...]"
    name.remove_prefix(name.find("Answer = ") + 9);
    name = name.substr(0, name.find_first_of(";]"));
    name.remove_prefix(name.rfind(':') + 1);
    if (name.ends_with("Answer")) name.remove_suffix(6);
    return std::string(name);
  }
  template <typename Value>
  std::string type_of() {
    if constexpr (Described<Value>) {
      declare_one<Value>();
      return interface_name<Value>();
    } else if constexpr (IsList<Value>::value) {
      return type_of<typename Value::value_type>() + "[]";
    } else if constexpr (IsMap<Value>::value) {
      return "Record<string, " + type_of<typename Value::mapped_type>() + ">";
    } else if constexpr (IsNullable<Value>::value) {
      return type_of<typename decltype(Value::value)::value_type>() + " | null";
    } else if constexpr (std::is_same_v<Value, Masked>) {
      return "(number | null)[]";
    } else if constexpr (std::is_same_v<Value, bool>) {
      return "boolean";
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return "number";
    } else {
      return "string";
    }
  }
  void add(std::string_view name, const char* between, const std::string& type) {
    fields_.append("  ").append(name).append(between).append(type).append(";\n");
  }

  std::set<std::string> declared_;
  std::string text_;
  std::string fields_;
};

/// The content of web/src/answers.ts.
inline std::string answer_types() {
  TypeWriter types;
  types.declare<ModelsAnswer, FoundModelsAnswer, SessionAnswer, RowAnswer, ColumnAnswer,
                EdgesAnswer, CellAnswer, SweepAnswer, WhyAnswer, OriginsAnswer, Effect, TrialAnswer,
                Anatomy, Dimensions, Geometry, MarginalsAnswer, HeadsAnswer, LateScoresAnswer,
                EvidenceAnswer, SimilarAnswer, AlignmentAnswer, ChangesAnswer, ChosenAnswer,
                NextAnswer, WordsAnswer, LensAnswer, BranchTokenAnswer, BranchEndAnswer,
                BeamsAnswer, FlowProgressAnswer, FlowAnswer, FlowTestAnswer>();
  return "// The types of /api/v1, written from src/inspect/answers by the test TypeWriter.\n\n" +
         types.text();
}

}  // namespace heed
