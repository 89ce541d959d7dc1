// Templates compared with the texts that transformers renders (tests/peers/chat_templates_test.py),
// and what they may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/formats/json.h"
#include "heed/error.h"
#include "support/places.h"
#include "text/jinja/template.h"

namespace heed {
namespace {

std::filesystem::path tests() { return std::filesystem::path(HEED_SOURCE_DIR) / "tests"; }

std::string source_of(const std::string& given) {
  return given.ends_with(".jinja") ? read_file(tests() / "peers" / "chat_templates" / given)
                                   : given;
}

std::string rendered(std::string_view source) {
  return render_template(source, Json({{"x", "a"}}), "T");
}

TEST(Template, WritesWhatTransformersWrites) {
  const std::filesystem::path file = tests() / "text" / "jinja_cases.json";
  const JsonText stored = JsonText::parse(read_file(file), {.file = file.string()});
  int texts = 0;
  for (const Json& entry : stored.root()["cases"].items()) {
    const std::string source = source_of(*entry["template"].as_text());
    const Json& variables =
        entry.has("variables") ? entry["variables"] : stored.root()["variables"];
    if (entry["text"].is_null()) {
      EXPECT_THROW(render_template(source, variables, "T"), Error) << source;
      continue;
    }
    ++texts;
    EXPECT_EQ(render_template(source, variables, "T"), *entry["text"].as_text()) << source;
  }
  EXPECT_GT(texts, 300);
}

constexpr std::pair<const char*, const char*> kRefused[] = {
    {"a\n{{ x.y.z }}", "T: line 2: 'y' is undefined"},
    {"{% if x %}\n{{ x | nothing }}{% endif %}",
     "T: line 2: a filter 'nothing', which heed's templates do not have"},
    {"{{ x is nothing }}", "T: line 1: a test 'nothing', which heed's templates do not have"},
    {"{{ x.format(1) }}",
     "T: line 1: a method of str 'format', which heed's templates do not have"},
    {"{% include 'x' %}",
     "T: line 1: a block 'include', expected one that heed's templates have: if, for, set, macro, "
     "with, generation, break, continue"},
    {"{{ raise_exception('system?') }}", "T: line 1: the template refuses the messages: system?"},
    {"\n\n{{ (x }}", "T: line 3: '}', expected ')'"},
    {"{% for a in x %}", "T: line 1: the end of the template, expected {% endfor %}"},
    {"{{ x", "T: line 1: the end of the template, expected \"}}\""},
    {"{{ x + 1 }}", "T: line 1: str + int, expected two numbers or two texts"}};

TEST(Template, NamesTheLineOfWhatIsWrong) {
  for (const auto& [source, message] : kRefused) {
    try {
      rendered(source);
      ADD_FAILURE() << source;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  }
}

std::string many(std::string_view part, int count = 100000) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

TEST(Template, ADeepOneIsRefusedBeforeTheStackEnds) {
  for (const std::string& source :
       {"{{ " + many("("), "{{ " + many("-") + "1 }}", "{{ " + many("not ") + "1 }}",
        "{{ 1" + many("+1") + " }}", "{{ x" + many(".x") + " }}", "{{ x" + many("|trim") + " }}",
        "{{ 1" + many(" if 1") + " }}", many("{% if 1 %}"), "{{ " + many("[") + " }}",
        "{% if 0 %}" + many("{% elif 0 %}") + "{% endif %}",
        std::string("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
        std::string("{% set n = namespace(a=[1]) %}{% for i in range(1000) %}{% set n.a = [n.a] %}"
                    "{% endfor %}")})
    EXPECT_THROW(rendered(source), Error) << source.substr(0, 40);
}

TEST(Template, ALongOneIsRefusedBeforeTheMemoryEnds) {
  for (const char* source :
       {"{{ 'a' * 1000000000000 }}", "{{ [1] * 1000000000000 }}",
        "{{ 'a' | indent(1000000000000) }}",
        "{% set n = namespace(a='a') %}{% for i in range(64) %}{% set n.a = n.a + n.a %}{% endfor "
        "%}",
        "{% set n = namespace(a=[1]) %}{% for i in range(64) %}{% set n.a = [n.a, n.a] %}{% endfor "
        "%}"
        "{{ n.a }}",
        "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
        "{{ range(100000) | join('b' * 1000000) }}",
        "{% for i in range(100000) %}{% set x = 'a' * 1000000 %}{% endfor %}"})
    EXPECT_THROW(rendered(source), Error) << source;
}

TEST(Template, ANamespaceCannotHoldItself) {
  for (const char* source :
       {"{% set n = namespace() %}{% set n.a = n %}",
        "{% set n = namespace() %}{% set n.a = [n] %}",
        "{% set n = namespace() %}{% macro f() %}{% endmacro %}{% set n.a = f %}"})
    EXPECT_THROW(rendered(source), Error) << source;
}

TEST(Template, NowIsWrittenAsAskedFor) {
  EXPECT_THAT(rendered("{{ strftime_now('%Y') }}"), testing::MatchesRegex("20[0-9][0-9]"));
}

}  // namespace
}  // namespace heed
