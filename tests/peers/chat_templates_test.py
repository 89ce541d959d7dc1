"""Compares the texts of tests/text/jinja_cases.json, which heed's tests expect of templates, with transformers' own.

The cases are the templates of the folder beside this file with several chats, and small templates. Usage:
    python tests/peers/chat_templates_test.py [HEED] [--write]
"""

import json
import pathlib
import sys

from places import SKIPPED, SOURCE

try:
    import jinja2
    from transformers.utils.chat_template_utils import _compile_jinja_template as compiled
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

CASES = SOURCE / "tests" / "text" / "jinja_cases.json"
TEMPLATES = pathlib.Path(__file__).resolve().parent / "chat_templates"

SYSTEM = {"role": "system", "content": "  Be brief.\n"}
USER = {"role": "user", "content": " Wie groß ist 東京? \n"}
ANSWER = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nVery. "}
AGAIN = {"role": "user", "content": "It's \"big\"\t<b>"}
TOOL = {"type": "function", "function": {
    "name": "weather", "description": "of a place",
    "parameters": {"type": "object", "required": ["where"], "properties": {
        "where": {"type": "string", "enum": ["Zürich", "b\"c"]}, "days": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"type": "number"}, "nullable": True}}}}}
PARTS = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " what? "}]}
CHATS = [
    {"messages": [USER], "add_generation_prompt": True},
    {"messages": [SYSTEM, USER], "add_generation_prompt": True},
    {"messages": [SYSTEM, USER, ANSWER, AGAIN], "add_generation_prompt": True},
    {"messages": [USER, ANSWER], "add_generation_prompt": False},
    {"messages": [USER, USER], "add_generation_prompt": True},
    {"messages": [SYSTEM, USER], "add_generation_prompt": True, "tools": [TOOL, TOOL]},
    {"messages": [USER], "add_generation_prompt": True, "enable_thinking": False, "reasoning_effort": "high",
     "documents": [{"title": "a", "text": 3}, {"title": "b", "text": None}]},
    {"messages": [PARTS], "add_generation_prompt": True},
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

# One expression each, in {{ }}, over these variables.
VARIABLES = {"n": 7, "m": -3, "x": 2.5, "t": "Hello, World", "u": "größe 東京 ÉA", "e": "", "no": None, "yes": True,
             "l": [3, 1, 2], "d": {"b": 1, "a": [1, 2], "items": "own"}, "names": ["Bo", "al", "bo", "Cy"],
             "rows": [{"k": "x", "v": {"w": 1}}, {"k": "y", "v": {"w": 2}}, {"k": "x"}], "s": "  a b  c \n"}
EXPRESSIONS = """
1 + 2 * 3 - 4
(1 + 2) * 3
7 // 2
-7 // 2
-7 % 3
7 % -3
7 / 2
6 / 2
2 ** 10
2 ** -1
-2 ** 2
2.5 // 1
-2.5 % 2
1e3
1e20
1.5e-7
0.1 + 0.2
100000000000000000000.0
true + 1
'a' + 'b'
'a' ~ 1 ~ none ~ true ~ 2.0
'ab' * 3
[1, 2] + [3]
[0] * 3
n > 3 and m < 0
n if m > 0
n if m > 0 else 'other'
not n
n or m
e or 'empty'
no and 1
1 < 2 < 3
1 < 3 < 2
1 == 1.0
true == 1
'a' < 'b'
'a' == "a"
[1, 2] == [1, 2]
{'a': 1} == {'a': 1.0}
(1, 2) == [1, 2]
[1, 2] < [1, 3]
'lo' in t
'x' not in t
3 in l
'b' in d
'w' in nothing
l
d
(1, 'x', none, 2.5)
(1,)
()
[]
{}
['it\\'s', "q\\"q", 'both\\'"', 'tab\\t', 'ü', '\\x7f', '\\u200b']
l[0]
l[-1]
l[9]
l[9] is defined
t[0]
u[2]
u[-1]
l[1:]
l[::-1]
l[-2:]
t[7:]
u[1:4]
t[::-1]
t[10:2:-3]
l[5:]
d.b
d['b']
d.nothing
d.nothing is defined
d['items']
d.items() | list
d.keys() | list
d.values() | list
d.get('b')
d.get('c')
d.get('c', 'other')
t.upper()
u.upper()
u.lower()
u.title()
'ab cd-ef'.title()
'ab cd-ef' | title
u.capitalize()
t | capitalize
s.strip()
s.lstrip()
s.rstrip()
s | trim
'xxaxx'.strip('x')
'xyaxy' | trim('yx')
s.split()
s.split(' ')
s.split(none, 1)
s.rsplit(none, 1)
'a,b,c'.split(',', 1)
'a,b,c'.rsplit(',', 1)
'a</t>b'.split('</t>')[-1]
''.split()
''.split(',')
'a\\nb\\r\\nc\\n'.splitlines()
t.startswith('He')
t.startswith(('x', 'He'))
t.endswith('d')
t.replace('l', 'L')
t.replace('l', 'L', 1)
t | replace('l', 'L')
t.find('World')
u.find('東')
t.find('zz')
t.rfind('o')
t.count('o')
'-'.join(['a', 'b'])
'abc'.removeprefix('a').removesuffix('c')
'12'.isdigit()
'1a'.isdigit()
'ab'.isalpha()
l | length
u | length
d | length
nothing | length
l | count
l | first
l | last
e | first
t | last
l | sort
l | sort(reverse=true)
names | sort
names | sort(case_sensitive=true)
names | unique | list
d | dictsort
rows | sort(attribute='k') | map(attribute='k') | list
l | join
l | join(', ')
rows | join('|', attribute='k')
names | map('upper') | join(' ')
rows | map(attribute='k') | list
rows | map(attribute='v.w', default=0) | list
rows | selectattr('v') | list | length
rows | selectattr('k', 'equalto', 'x') | list
rows | rejectattr('k', 'eq', 'x') | list
rows | selectattr('v', 'defined') | map(attribute='k') | list
l | select('gt', 1) | list
l | select('odd') | list
l | reject('odd') | list
['', 'a', none] | select | list
'yes' if (rows | selectattr('k', 'equalto', 'none'))
l | reverse | list
t | reverse
l | list
t | list | first
n | string
'42' | int
' 42 ' | int
'4.9' | int
'x' | int
'x' | int(5)
3.9 | int
'2.5' | float
'x' | float
m | abs
no | default('d')
nothing | default('d')
nothing | d('x')
e | default('d', true)
nothing
nothing | upper
nothing | trim
nothing | list
nothing ~ 'a'
d | tojson
d | tojson(indent=2)
[] | tojson(indent=2)
{'b': [], 'a': {'c': 1}} | tojson(indent=4, sort_keys=true)
u | tojson
u | tojson(ensure_ascii=true)
'😀' | tojson(ensure_ascii=true)
'a"b\\\\c\\n<>&\\'/\\x01' | tojson
[1, 2.0, none, true, 1e30] | tojson
d | tojson(separators=(',', ':'))
d | items | list
'a\\nb\\n\\nc' | indent
'a\\nb' | indent(2, first=true)
'a\\n\\nb' | indent(1, blank=true)
n is number
n is string
t is string
t is iterable
d is mapping
l is sequence
l is mapping
no is none
no is not none
yes is true
yes is boolean
1 is true
n is integer
x is float
n is odd
n is divisibleby 7
n is in [1, 7]
n is eq 7
n is ge(7)
nothing is undefined
nothing is not defined
yes is sameas true
't' is lower
raise_exception is callable
range(3) | list
range(1, 10, 4) | list
range(3, 0, -1) | list
dict(a=1, b='x')
namespace(a=1).a
'a' 'b'
{'a': 1}.a
{'a': {'b': 2}}['a'].b
-n | abs
'%' ~ '{{' ~ '}}'
1 if n is defined else 2
not n is defined
n is defined and m is not defined or yes
l.index(2)
l.count(1)
'abc'[1]
rows[0].v.w
rows.0.k
(l | first) + 1
1_000
'\\u6771\\t\\'' 
""".strip("\n").split("\n")

STATEMENTS = [
    "a\n", "a\n\n", "a\r\nb\r\n", "  {% if yes %}\n  x\n  {% endif %}\n  y", "{%- if yes -%}  x  {%- endif -%}  z",
    "a {{- n -}} b", "a  {#- c -#}  b", "a\n  {# c #}\nb", "a\n  {%+ if yes %}b{% endif %}", "{% if yes +%}\nb{% endif %}",
    "{{ n }}\n{{ m }}\n", "{% raw %}{{ n }} {% x %}{% endraw %}!", "  {%- raw -%}  a  {%- endraw -%}  b",
    "{% for i in l %}{{ i }},{% endfor %}", "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for i in nothing %}x{% else %}none{% endfor %}", "{% for c in 'äb' %}{{ c }}.{% endfor %}",
    "{% for k in d %}{{ k }} {% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for i in l if i > 1 %}{{ loop.index }}/{{ loop.length }}:{{ i }} {% endfor %}",
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}"
    "{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }}|{% endfor %}",
    "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% set a = 1 %}{% for i in l %}{{ a }}{% set a = i %}{{ a }} {% endfor %}{{ a }}",
    "{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}",
    "{% if yes %}{% set a = 5 %}{% endif %}{{ a }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a %}x{{ n }}{% endset %}[{{ a }}]", "{% set a | upper | trim %}  x {% endset %}[{{ a }}]",
    "{% macro f(a, b=2, c='x') %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f() }}{{ f(1, 2, 3) }}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% set g = 1 %}{% macro f() %}{{ g }}{{ n }}{% endmacro %}{% set g = 2 %}{{ f() }}",
    "{% macro f(x) %}a{% endmacro %}{{ (f(1) ~ f(2)) | length }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% generation %}x{% endgeneration %}",
    "{% if n == 1 %}a{% elif n == 7 %}b{% else %}c{% endif %}", "{% if no %}a{% elif no %}b{% else %}c{% endif %}",
    "{{ 1, 2 }}", "{% for a, b in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %}",
    "{{ {'a': {'b': 1}} }}", "{% set x = {'a': 1} %}{{ x.a }}", "{{ '}}' }}", "{% set x = '%}' %}{{ x }}",
    "{{- '\n' if yes -}}  x", "{% for m in rows %}\n  {{- m.k }}\n{% endfor %}\nend",
]
# What Jinja refuses, and heed has to.
REFUSED = [
    "{{ nothing.x }}", "{{ nothing() }}", "{{ nothing + 1 }}", "{{ 'a' + 1 }}", "{{ 1 / 0 }}", "{{ n.x.y }}", "{{ 1 < 'a' }}",
    "{% for i in n %}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{{ no | length }}", "{{ l | nofilter }}",
    "{{ l is notest }}", "{% if n %}", "{% endif %}", "{{ n", "{{ }}", "{{ 1 + }}", "{{ (1 }}", "{{ 'a }}", "{% nothing %}",
    "{% set 1 = 2 %}", "{% for i in l %}", "{{ l[::0] }}", "{{ raise_exception('no') }}", "{% set n.a = 1 %}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{% endmacro %}{{ f(b=2) }}", "{{ 1 in 'abc' }}",
    "{{ nothing | tojson }}", "{{ nothing | int }}", "{{ range(1000000) }}", "{{ l.append(1) }}", "{{ n() }}", "{# a",
    "{% break %}", "{{ 1 2 }}", "{{ a b }}", "{{ -'a' }}", "{{ t.nothing() }}", "{{ 'a' in n }}", "{% raw %}a",
    "{{ t | replace('a') }}", "{{ [1][0](2) }}", "{{ f(a=1, 2) }}", "{{ 'abc'.split('') }}", "{{ x | trim(1) }}",
    "{{ namespace(_a=1) }}", "{{ rows | map(attribute='v.w') | list }}", "{{ 2 is divisibleby 0 }}", "{{ l | first | first }}", "{{ ([3,1] | map('abs'))[0] + 1 }}",
]


def written(template, variables):
    return compiled(template).render(**variables)


def cases():
    made = []
    for path in sorted(TEMPLATES.glob("*.jinja")):
        template = path.read_text()
        for chat in CHATS:
            variables = {**TOKENS, "tools": None, "documents": None, **chat}
            try:
                made.append({"template": path.name, "variables": variables, "text": written(template, variables)})
            except (jinja2.TemplateError, TypeError):
                made.append({"template": path.name, "variables": variables, "text": None})
    for expression in EXPRESSIONS:
        template = "{{ " + expression + " }}"
        made.append({"template": template, "text": written(template, VARIABLES)})
    for template in STATEMENTS:
        made.append({"template": template, "text": written(template, VARIABLES)})
    for template in REFUSED:
        try:
            raise SystemExit(f"{template} is not refused: {written(template, VARIABLES)!r}")
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, SyntaxError):
            made.append({"template": template, "text": None})
    return {"variables": VARIABLES, "cases": made}


def main():
    found = cases()
    count = len(found["cases"])
    if "--write" in sys.argv:
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found["cases"])
        variables = json.dumps(VARIABLES, ensure_ascii=False)
        CASES.write_text(f'{{"variables": {variables},\n"cases": [\n{lines}\n]}}\n')
        print(f"{CASES}: {count} cases")
        return 0
    stored = json.loads(CASES.read_text())
    wrong = [new for new, old in zip(found["cases"], stored["cases"]) if new != old]
    for case in wrong:
        print(f"another text: {json.dumps(case, ensure_ascii=False)}")
    print(f"{count - len(wrong)} of {count} cases are as transformers writes them")
    return 0 if not wrong and count == len(stored["cases"]) else 1


if __name__ == "__main__":
    sys.exit(main())
