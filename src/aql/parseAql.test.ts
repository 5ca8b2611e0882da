import { describe, expect, it } from 'vitest';
import { OstrakaError } from '../base/index.js';
import { describeAst } from './describeAst.js';
import { parseAql } from './parseAql.js';

const failure = (text: string): OstrakaError => {
  try {
    parseAql(text);
  } catch (error) {
    if (error instanceof OstrakaError) return error;
    throw error;
  }
  throw new Error(`no error in ${text}`);
};

/** query, line:column, part of the message */
const rejected: readonly (readonly [string, string, string])[] = [
  ['FOR x IN [1] RETRUN x', '1:14', 'did you mean RETURN'],
  ['RETURN 1;', '1:9', 'no semicolon'],
  ['FOR x IN c FILTER x.a = 1 RETURN x', '1:23', '= assigns; == compares'],
  ['RETURN [1 2]', '1:11', "expected ',' or ']'"],
  ['RETURN {return:1}', '1:9', 'write it in quotes'],
  ['RETURN 01', '1:8', 'does not begin with 0'],
  ['LET a = 1', '1:10', 'ends without RETURN'],
  ["INFER 'm'", '1:10', 'a prompt after the model'],
  ["INFER 'm' x DOMAIN", '1:19', 'an expression after DOMAIN'],
  ["INFER 'm' x DOMAIN 'a' DOMAIN 'b'", '1:24', 'DOMAIN is given twice'],
  ['FOR x IN c AGGREGATE n = COUNT() RETURN n', '1:12', 'AGGREGATE follows COLLECT'],
  ['FOR x IN c COLLECT AGGREGATE n = 1 + LENGTH(x) RETURN n', '1:34', 'a call of one aggregate function'],
  ['RETURN "abc', '1:8', 'unterminated string'],
  ['RETURN 1 /* abc', '1:10', 'unterminated comment'],
  ['RETURN 1.', '1:9', 'digits after the point'],
  ['RETURN 1\nRETURN 2', '2:1', 'the end of the query'],
  ['FOR x IN\n  c\nFILTER x.a ==\nRETURN x', '4:1', 'an expression'],
  ['FOR return IN [1] RETURN 1', '1:5', 'reserved word'],
  ['RETURN (1', '1:10', "expected ')'"],
  ['RETURN @', '1:8', 'name of a bind parameter'],
  ['REMOVE d', '1:9', 'expected IN'],
  ["EMBED 'm'", '1:10', 'a text or an array of texts'],
  ["RERANK 'm'", '1:11', 'a query after the model'],
  ["RETURN RERANK 'm' 'q'", '1:22', 'expected OVER'],
  ["RETURN RERANK 'm' 'q' OVER", '1:27', 'an array of texts or objects after OVER'],
  ["RETURN RERANK 'm' 'q' OVER [] TOP", '1:34', 'a number after TOP'],
];

describe('parseAql: errors carry line, column and what was expected (R13)', () => {
  it.each(rejected)('%s', (text, position, message) => {
    const error = failure(text);
    expect(error.errorNum).toBe(1501);
    expect(error.httpStatus).toBe(400);
    expect(`${error.data['line']}:${error.data['column']}`).toBe(position);
    expect(error.message).toContain(message);
  });

  it('is 1502 for an empty query', () => expect(failure(' // nothing').errorNum).toBe(1502));

  it('is 400 for a query of 2 MB', () => {
    const error = failure(`RETURN "${'x'.repeat(2 * 1024 * 1024)}"`);
    expect([error.code, error.httpStatus]).toEqual(['AQL_TOO_LONG', 400]);
    expect(error.message).toContain('bind parameters');
  });

  it.each([
    ['brackets', `RETURN ${'['.repeat(600)}${']'.repeat(600)}`],
    ['a left chain', `RETURN 1${' + 1'.repeat(100_000)}`],
    ['prefixes', `RETURN ${'!'.repeat(100_000)}1`],
    ['chains inside chains', `RETURN ${'('.repeat(100)}1${`${' + 1'.repeat(100)})`.repeat(100)}`],
    ['ternaries', `RETURN ${'1 ? 2 : '.repeat(50_000)}3`],
    ['subqueries', `RETURN ${'(RETURN '.repeat(50_000)}`],
    ['access', `RETURN a${'.b'.repeat(50_000)}`],
  ])('is 1524 for %s nested too deep', (_, text) => expect(failure(text).errorNum).toBe(1524));

  it('parses what stays within the limit', () => {
    expect(() => parseAql(`RETURN ${'['.repeat(400)}${']'.repeat(400)}`)).not.toThrow();
    expect(() => parseAql(`RETURN 1${' + 1'.repeat(400)}`)).not.toThrow();
  });

  it.each([
    ['FOR v IN 1..3 OUTBOUND "a/1" GRAPH "g" RETURN v', 'a traversal', 'R11'],
    ['FOR v, e IN ANY "a/1" edges RETURN v', 'a traversal', 'R11'],
    ['FOR v IN OUTBOUND SHORTEST_PATH "a/1" TO "a/2" GRAPH "g" RETURN v', 'a traversal', 'R11'],
    ['UPSERT {a: 1} INSERT {a: 1} UPDATE {} IN c', 'UPSERT', 'R13'],
    ['FOR d IN c WINDOW {preceding: 1} RETURN 1', 'WINDOW', 'R13'],
    ['FOR d IN v SEARCH d.a == 1 RETURN d', 'SEARCH', 'R10'],
    ["INFER 'm' 'q' STREAM", 'STREAM', 'R14'],
    ["RETURN INFER 'm' 'q' CONTEXT EACH q IN (RETURN 1)", 'CONTEXT EACH', 'R16'],
    ['LLM MODEL LIST', 'LLM MODEL', 'R14'],
    ['RETURN a::b()', 'user function', 'R13'],
    ['RETURN a[? 2 FILTER CURRENT > 1]', 'question mark operator', 'R13'],
    ['FOR d IN c LET [a, b] = d RETURN a', 'destructuring', 'R13'],
  ])('names the absent construct in %s', (text, construct, requirement) => {
    const error = failure(text);
    expect(error.code).toBe('NOT_SUPPORTED');
    expect(error.message).toContain(construct);
    expect(error.message).toContain(requirement);
  });
});

const expression = (text: string): unknown => {
  const [operation] = parseAql(`RETURN ${text}`).operations;
  return operation?.kind === 'return' ? show(operation.value) : undefined;
};

/** An expression with all its parentheses, to compare shapes. */
const show = (node: unknown): string => {
  const { kind, ...parts } = node as { kind: string; [name: string]: unknown };
  if (kind === 'literal') return JSON.stringify(parts['value']);
  if (kind === 'reference') return String(parts['name']);
  if (kind === 'attribute') return `${show(parts['source'])}.${parts['name']}`;
  if (kind === 'unary') return `(${parts['operator']}${show(parts['operand'])})`;
  if (kind === 'binary') return `(${show(parts['left'])} ${parts['operator']} ${show(parts['right'])})`;
  if (kind === 'range') return `(${show(parts['from'])}..${show(parts['to'])})`;
  if (kind === 'ternary') return `(${show(parts['condition'])} ? ${show(parts['whenTrue'])} : ${show(parts['whenFalse'])})`;
  if (kind === 'infer') return `INFER<${show(parts['prompt'])}${parts['domain'] ? ` ${show(parts['domain'])}` : ''}>`;
  return kind;
};

describe('parseAql: precedence is ArangoDB’s', () => {
  it.each([
    ['a == b IN c < d', '(a == (b IN (c < d)))'],
    ['a < b == c', '((a < b) == c)'],
    ['!a == b', '((!a) == b)'],
    ['NOT a == b', '((!a) == b)'],
    ['a || b && c', '(a OR (b AND c))'],
    ['1 + 2 * 3 - 4', '((1 + (2 * 3)) - 4)'],
    ['1..3 + 1', '(1..(3 + 1))'],
    ['a ? b : c ? d : e', '(a ? b : (c ? d : e))'],
    ['a NOT IN b', '(a NOT IN b)'],
    ['a.b.c', 'a.b.c'],
    ['-a * b', '((-a) * b)'],
    ['a LIKE b == c', '((a LIKE b) == c)'],
  ])('%s', (text, shape) => expect(expression(text)).toBe(shape));
});

describe('parseAql: LLM ADAPTER is a statement where a query begins, and words everywhere else (R21)', () => {
  const statement = (text: string): unknown => {
    const [operation, ...others] = parseAql(text).operations;
    expect(others).toEqual([]);
    const kinds = Object.entries(operation ?? {}).flatMap(([name, part]) =>
      typeof part === 'object' && 'kind' in part ? [`${name}:${part.kind}`] : typeof part === 'string' ? [part] : [],
    );
    return kinds.join(' ');
  };

  it.each([
    ['LLM ADAPTER LIST', 'adapter list'],
    ['llm adapter list // of all shards', 'adapter list'],
    ["LLM ADAPTER LOAD '/a/legal.gguf' DOMAIN 'legal'", 'adapter load subject:literal domain:literal'],
    [
      "LLM ADAPTER LOAD CONCAT(@folder, 'a') OPTIONS {scale: 0.5} SHARD @shard DOMAIN @domain",
      'adapter load subject:call options:object shard:bind domain:bind',
    ],
    ["LLM ADAPTER UNLOAD 'legal@0.5' SHARD 'shard-1'", 'adapter unload subject:literal shard:literal'],
  ])('%s', (text, parts) => expect(statement(text)).toBe(parts));

  it.each([
    'LET llm = 1 LET adapter = 2 LET list = 3 RETURN llm + adapter + list',
    "LET llm = 'p' LET list = 'a' RETURN INFER 'm' llm ADAPTER list",
    "LET llm = 'p' LET load = 'a' RETURN INFER 'm' 'p' SYSTEM llm ADAPTER load",
    'FOR llm IN [1] RETURN llm',
    'FOR d IN c SORT d.llm RETURN {llm: d, adapter: 1}',
    'WITH llm FOR adapter IN llm RETURN adapter',
    'LET x = [1] RETURN x[* FILTER CURRENT.llm RETURN CURRENT.adapter]',
  ])('still parses %s', (text) => expect(() => parseAql(text)).not.toThrow());

  it.each([
    'LET a = 1 LLM ADAPTER LIST',
    'RETURN LLM ADAPTER LIST',
    'RETURN (LLM ADAPTER LIST)',
    'LET a = (LLM ADAPTER LIST) RETURN a',
    'FOR a IN LLM ADAPTER LIST RETURN a',
    'FOR a IN (LLM ADAPTER LIST) RETURN a.domain',
    "WITH c LLM ADAPTER UNLOAD 'a'",
    "RETURN LENGTH(LLM ADAPTER LOAD 'a' DOMAIN 'b')",
    'RETURN [LLM ADAPTER LIST]',
    "RETURN LLM EMBED 'm' FOR d IN c FROM d.t INTO v",
    'LET a = (LLM EMBED @m FOR d IN c FROM d.t INTO v) RETURN a',
    "LET a = 1 LLM EMBED 'm' FOR d IN c FROM d.t INTO v",
  ])('refuses it inside a query: %s', (text) =>
    expect(failure(text)).toMatchObject({ code: 'AQL_STATEMENT_MISPLACED', errorNum: 1501, data: { line: 1 } }),
  );

  it.each([
    ['LLM ADAPTER', 'LIST'],
    ['LLM ADAPTER DROP', 'LIST'],
    ['LLM ADAPTER LIST RETURN 1', 'the end of the query'],
    ["LLM ADAPTER LOAD 'a'", 'DOMAIN'],
    ["LLM ADAPTER LOAD 'a' DOMAIN 'b' DOMAIN 'c'", 'DOMAIN is given twice'],
    ["LLM ADAPTER UNLOAD 'a' DOMAIN 'b'", 'the end of the query'],
    ["LLM ADAPTER LIST SHARD 's'", 'the end of the query'],
  ])('says what is expected in %s', (text, expected) => {
    const error = failure(text);
    expect(error.code).toBe('AQL_PARSE');
    expect(error.message).toContain(expected);
  });
});

describe('parseAql: LLM EMBED … FOR is a statement where a query begins (R28)', () => {
  it.each([
    "LLM EMBED 'm' FOR d IN c FROM d.t INTO v",
    'llm embed @model for d in @@c from CONCAT(d.title, "\\n", d.body) into @attribute options {truncate: true}',
    "LLM EMBED 'm' FOR d IN `c` FROM d.t INTO 'a vector'",
  ])('reads %s', (text) => {
    const [operation, ...others] = parseAql(text).operations;
    expect([operation?.kind, others]).toEqual(['embedRows', []]);
    expect(describeAst(parseAql(text)).collections).toHaveLength(1);
  });

  it('leaves the call LLM EMBED what it was', () =>
    expect(parseAql("RETURN LLM EMBED 'm' 'text'").operations).toMatchObject([{ kind: 'return', value: { kind: 'embed' } }]));

  it.each([
    ["LLM EMBED 'm' FOR", 'a variable name after FOR'],
    ["LLM EMBED 'm' FOR d IN c INTO v", 'FROM'],
    ["LLM EMBED 'm' FOR d IN c FROM d.t", 'INTO'],
    ["LLM EMBED 'm' FOR d IN c FROM d.t INTO 1", 'the name of an attribute'],
    ["LLM EMBED 'm' FOR d IN c FROM d.t INTO v RETURN 1", 'the end of the query'],
  ])('says what is expected in %s', (text, expected) =>
    expect(failure(text)).toMatchObject({ code: 'AQL_PARSE', message: expect.stringContaining(expected) }),
  );
});

describe('parseAql: INFER, EMBED and their tail words are words, not reserved ones (R14)', () => {
  it.each([
    'FOR infer IN [1] LET embed = infer RETURN {domain: embed}',
    'LET context = 1 LET options = 2 LET system = 3 RETURN context + options + system',
    'FOR llm IN [1] RETURN llm.infer',
    'LET infer = [1] RETURN infer[0]',
    'RETURN INFER("m", "p")',
    'FOR rerank IN [1] LET over = rerank LET top = over RETURN {rerank, over, top}',
    'RETURN RERANK("m", "q", ["a"])',
  ])('%s', (text) => expect(() => parseAql(text)).not.toThrow());

  it.each([
    ["INFER 'm' d.t DOMAIN 'legal' == 'yes'", '(INFER<d.t "legal"> == "yes")'],
    ["LLM INFER 'm' 'p'", 'INFER<"p">'],
    ["INFER @m 'p' + 1", '(INFER<"p"> + 1)'],
  ])('%s', (text, shape) => expect(expression(text)).toBe(shape));

  it('reads a trailing INFER as RETURN INFER', () => {
    const strip = (text: string) => JSON.stringify(parseAql(text).operations).replaceAll(/"at":\d+/g, '');
    expect(strip("INFER 'm' @q DOMAIN 'legal'")).toBe(strip("RETURN INFER 'm' @q DOMAIN 'legal'"));
  });

  it('binds OPTIONS to INFER and not to FOR', () => {
    const [operation] = parseAql("FOR x IN INFER 'm' 'p' OPTIONS {detail: true} RETURN x").operations;
    expect(operation).toMatchObject({ kind: 'for', source: { kind: 'infer', options: { kind: 'object' } } });
    expect(operation).not.toHaveProperty('options');
  });
});

describe('parseAql: lexis', () => {
  it.each([
    'RETURN .5',
    'RETURN 1..3',
    'RETURN 0xff + 0b101',
    'RETURN [1, 2,]',
    'RETURN {a: 1, "b": 2, `c`: 3, [d]: 4, @e: 5,}',
    'FOR d IN c /* a comment */ RETURN d // the end',
    'for D in c return D',
    'RETURN `return`.´for´',
    'FOR d IN @@c FILTER d.@attr == @1 RETURN d',
    'RETURN (FOR d IN c RETURN d)[*].a',
    'RETURN LENGTH(FOR d IN c RETURN 1)',
    'RETURN a[* FILTER CURRENT > 1 LIMIT 2 RETURN CURRENT.b].c[**]',
    'FOR d IN c SORT d.a DESC, d.b LIMIT 1, 2 RETURN DISTINCT d',
    'FOR d IN c COLLECT a = d.a AGGREGATE n = SUM(d.b) INTO g = d.c WITH COUNT INTO k RETURN a',
    'FOR d IN c REMOVE d IN c OPTIONS {ignoreErrors: true} RETURN OLD',
    'FOR d IN c UPDATE d WITH {a: d.b IN [1]} IN c',
    'RETURN a ANY == 1 && b ALL IN [1] || c NONE > 2',
    'RETURN a ?: b',
  ])('%s', (text) => expect(() => parseAql(text)).not.toThrow());

  it('collects bind parameters as bindVars names them', () =>
    expect(parseAql('FOR d IN @@c FILTER d.a == @a && d.b == @a RETURN @1').bindParameters).toEqual(['@c', 'a', '1']));
});
