import { Template } from '@huggingface/jinja';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTemplate } from './parseTemplate.js';
import { renderTemplate } from './renderTemplate.js';
import { templateLimits } from './templateLimits.js';

const messages = [
  { role: 'system', content: '\ue0000\ue001' },
  { role: 'user', content: '\ue0001\ue001' },
];
const nowMs = Date.UTC(2026, 6, 4, 9, 5);
const render = (source: string, given: object = {}): string => {
  const parsed = parseTemplate(source);
  return parsed === undefined ? '' : renderTemplate(parsed, { messages, bos_token: '<s>', ...given }, nowMs);
};
const doubled = (times: number, text: string) =>
  `{% set ns = namespace(s="${text}") %}{% for i in range(${times}) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`;
const many = '{% set ns = namespace(a=[]) %}{% for i in range(15) %}{% set ns.a = ns.a + (ns.a or range(20)) %}{% endfor %}';

describe('a chat template from anywhere (R22)', () => {
  it.each([
    ['a loop without an end in sight', '{% for i in range(1000000000) %}{% endfor %}'],
    ['loops inside each other', '{% for i in range(9000) %}{% for j in range(9000) %}{% endfor %}{% endfor %}'],
    ['a loop over what it keeps', `${many}{% for i in range(40000) %}{% for j in ns.a %}{% endfor %}{% endfor %}`],
    ['a macro that calls itself', '{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}'],
    ['a macro that calls itself twice', '{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}'],
    [
      'a macro that is defined over and over',
      `{% for i in range(40000) %}{% macro m() %}${'{{ a }}'.repeat(9000)}{% endmacro %}{% endfor %}`,
    ],
    ['a macro of many parameters', `{% macro m(${Array.from({ length: 9000 }, (_, i) => `p${i}`).join()}) %}{% endmacro %}{{ m() }}`],
    ['a text that doubles', `${doubled(40, 'ab')}{{ ns.s }}`],
    [
      'a text that doubles with ~',
      '{% set ns = namespace(s="ab") %}{% for i in range(26) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}',
    ],
    [
      'a list that holds itself twice, and so on',
      '{% set ns = namespace(s=["ab"]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | tojson }}',
    ],
    [
      'a list inside a list, and so on',
      '{% set ns = namespace(s=[]) %}{% for i in range(9000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s | tojson(indent=60) }}',
    ],
    ['a namespace inside itself', '{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{{ ns.a | tojson }}'],
    ['a list that is written in a loop', `${many}{% for i in range(40000) %}{{ ns.a }}{% endfor %}`],
    ['each character of a long text by a long text', `${doubled(15, 'ab')}{{ ns.s.replace("a", ns.s) | length }}`],
    ['the same as a filter', `${doubled(15, 'ab')}{{ ns.s | replace("a", ns.s) | length }}`],
    ['the same under another name', `${doubled(15, 'ab')}{% set r = ns.s.replace %}{{ r("a", ns.s) | length }}`],
    ['the same by a computed name', `${doubled(15, 'ab')}{% set n = "repl" ~ "ace" %}{{ ns.s[n]("a", ns.s) | length }}`],
    ['the same as a filter of a block', `${doubled(15, 'ab')}{% filter replace("a", ns.s) %}{{ ns.s }}{% endfilter %}`],
    ['a wide indent', '{{ "a\\nb\\nc" | indent(400000000) | length }}'],
    ['a wide indent by name', '{{ "a\\nb\\nc" | indent(width=400000000) | length }}'],
    ['JSON with a wide indent', '{{ [[1], [2]] | tojson(indent=200000000) | length }}'],
    ['JSON with long separators', `${doubled(15, 'ab')}{{ range(9000) | tojson(separators=(ns.s, ns.s)) | length }}`],
    ['items with a long text between them', `${doubled(15, 'ab')}{{ range(9000) | join(ns.s) | length }}`],
    ['a long text in a long text', `${doubled(19, 'a')}{% for i in range(9000) %}{{ ("b" ~ ns.s[:200000]) in ns.s }}{% endfor %}`],
    ['a long list sorted over and over', `${many}{% for i in range(9000) %}{% set x = ns.a | sort %}{% endfor %}`],
    ['an item in a long list, over and over', `${many}{% for i in range(40000) %}{% if 7.5 in ns.a %}{% endif %}{% endfor %}`],
    [
      'a long text in capitals, over and over',
      `${doubled(18, 'ab')}{% for i in range(40000) %}{% if ns.s is upper %}{% endif %}{% endfor %}`,
    ],
    ['a hundred million characters', `{% for i in range(1000000) %}${'x'.repeat(100)}{% endfor %}`],
    ['blocks deep inside each other', `${'{% if true %}'.repeat(900)}x${'{% endif %}'.repeat(900)}`],
  ])('is refused by count, whatever it does: %s', (_, source) => {
    const startedMs = performance.now();
    expect(() => render(source)).toThrow(expect.objectContaining({ code: 'CHAT_REFUSED' }));
    expect(performance.now() - startedMs).toBeLessThan(4000); // of a busy machine; it takes a tenth
  });

  it.each([
    ['too long', `{# ${'x'.repeat(templateLimits.sourceCharactersMax)} #}`, /characters \(at most/],
    ['a long run of spaces', `{{ "a" }}${' '.repeat(100_000)}{{ "b" }}`, /spaces in a row/],
    ['without an end', '{% for x in %}', /cannot be parsed: /],
    ['a block that is not closed', '{% if true %}x', /cannot be parsed: /],
    ['brackets deep inside each other', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`, /cannot be parsed: /],
  ])('is refused before it runs: %s', (_, source, message) => {
    const startedMs = performance.now();
    expect(() => parseTemplate(source)).toThrow(
      expect.objectContaining({ code: 'MODEL_INVALID', message: expect.stringMatching(message) }),
    );
    expect(performance.now() - startedMs).toBeLessThan(4000);
  });

  it('reaches nothing but what it is given', () => {
    const source =
      '{{ messages.constructor }}{{ "".constructor }}{{ messages.__proto__ }}{{ range.constructor }}{{ messages[0].__proto__ }}';
    expect(render(source)).toBe('');
    expect(() => render('{{ "".constructor.constructor("return 1")() }}')).toThrow(/undefined|not a function/i);
  });

  it('has long chats to write: so many more steps as there are messages and tools', () => {
    const long = Array.from({ length: 1000 }, () => ({ role: 'user', content: 'x' }));
    const tools = Array.from({ length: 100 }, (_, i) => ({
      function: { name: `f${i}`, parameters: { properties: { a: { type: 'string' } } } },
    }));
    const source =
      "{% for t in tools %}{{ t | tojson(indent=4) }}{% endfor %}{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('role') }}{% endif %}" +
      "{{ '<|im_start|>' + m.role + '\\n' + m.content | trim + ('<|im_end|>\\n' if not loop.last else messages[loop.index0 - 1].content) }}{% endfor %}";
    expect(render(source, { messages: long, tools })).toBe(new Template(source).render({ messages: long, tools }));
  });

  it('writes the time of the clock, in UTC', () => {
    expect(render('{{ strftime_now("%d %b %Y, %B %m, %H:%M 100%%") }}')).toBe('04 Jul 2026, July 07, 09:05 100%');
  });

  it('writes what the library alone would write', () => {
    const value = fc.constantFrom(
      'messages',
      'messages[0]',
      "messages[-1]['content']",
      "'a b,c'",
      '[1, 2, 3]',
      "{'a': [1], 'b': 'x'}",
      '7',
      'none',
      'missing',
      'ns.n',
      "'x' ~ 3",
      "['b', 'a']",
    );
    const filter = fc.constantFrom(
      '',
      ' | length',
      ' | tojson',
      ' | tojson(indent=2)',
      ' | trim',
      ' | upper',
      " | join(', ')",
      ' | first',
      ' | last',
      ' | list',
      ' | sort',
      ' | sort(reverse=true)',
      " | replace('a', 'b')",
      ' | indent(2, true)',
      ' | string',
      " | default('d')",
      " | map(attribute='role') | join",
      ' | items',
      ' | unique',
      ' | reverse',
      ' | dictsort',
      " | selectattr('role', 'equalto', 'user') | list",
      '[1:]',
      '[::-1]',
      ".split(' ')",
      ".split(',', 1)",
      ".startswith('a')",
      ".replace('a', 'b', 1)",
      '.items()',
      ".get('a', 'z')",
      '.strip()',
      "['length']",
      ' is string',
      ' is defined',
      " in 'abc'",
      ' in [7]',
      " not in ['x']",
      ' == 7',
      ' + 1',
      " + 'x'",
    );
    const shown = fc
      .tuple(value, filter, filter)
      .map(([text, ...filters]) => filters.reduce<string>((made, filter) => `(${made}${filter})`, text));
    const body = fc.oneof(
      shown.map((text) => `{{ ${text} }}`),
      shown.map((text) => `{% if ${text} %}yes{% else %}no{% endif %}`),
      shown.map((text) => `{% for x in ${text} %}{{ loop.index }}{{ x }}{% else %}none{% endfor %}`),
      shown.map((text) => `{% for x in ${text} if x != 2 %}{{ x }}{% if loop.first %}{% continue %}{% endif %}-{% break %}{% endfor %}`),
      shown.map((text) => `{% set ns.n = ${text} %}`),
      shown.map((text) => `{% set y %}{{ ${text} }}{% endset %}{{ y | length }}`),
      shown.map(
        (text) =>
          `{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ caller() if caller is defined }}]{% endmacro %}{{ m(${text}) }}{{ m(b=1, a=2) }}{% call m(3) %}c{% endcall %}`,
      ),
      shown.map((text) => `{% filter indent(2) %}{{ ${text} }}\nz{% endfilter %}`),
    );
    const outcome = (run: () => string) => {
      try {
        return run();
      } catch (error) {
        return `failed: ${(error as Error).message.replace('the chat template of the model cannot be parsed: ', '')}`;
      }
    };
    fc.assert(
      fc.property(fc.array(body, { minLength: 1, maxLength: 3 }), (bodies) => {
        const source = `{%- set ns = namespace(n=1) -%}\n  ${bodies.join('\n')}`;
        expect(outcome(() => render(source))).toBe(outcome(() => new Template(source).render({ messages, bos_token: '<s>' })));
      }),
      { numRuns: 500 },
    );
  });
});
