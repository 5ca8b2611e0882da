import { describe, expect, it } from 'vitest';
import { type JsonValue, OstrakaError } from '../base/index.js';
import { type ExplainedNode, explainPlan } from './explainPlan.js';
import { planQuery } from './planQuery.js';

const omitted = new Set(['options', 'outputs', 'inputs']);

const line = (node: ExplainedNode, indent: string): string => {
  const details = Object.entries(node.details).filter(
    ([name, value]) => !omitted.has(name) && !(Array.isArray(value) && value.length === 0),
  );
  const text = details.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
  const own = `${indent}${node.site} ${node.type.replace(/Node$/, '')} ${text}`.trimEnd();
  return [own, ...(node.nodes ?? []).map((inner) => line(inner, `${indent}  `))].join('\n');
};

const plan = (text: string, bindVars: { [name: string]: JsonValue } = {}, optimizerRules: string[] = []): string =>
  explainPlan(planQuery({ text, bindVars, optimizerRules }))
    .nodes.map((node) => line(node, ''))
    .join('\n');

const failure = (text: string, bindVars: { [name: string]: JsonValue } = {}): OstrakaError => {
  try {
    planQuery({ text, bindVars });
  } catch (error) {
    if (error instanceof OstrakaError) return error;
    throw error;
  }
  throw new Error(`no error in ${text}`);
};

describe('explainPlan: the graph', () => {
  const all = (nodes: readonly ExplainedNode[]): readonly ExplainedNode[] => nodes.flatMap((node) => [node, ...all(node.nodes ?? [])]);

  it.each([
    'FOR d IN c FILTER d.a == 1 LET s = (FOR e IN k FILTER e.x == d.a RETURN e) SORT d.a RETURN {d, s}',
    'FOR d IN c FOR e IN k FILTER e.x == d.a COLLECT a = d.a WITH COUNT INTO n RETURN {a, n}',
    "FOR d IN c UPDATE d WITH {v: EMBED 'default' d.t} IN c RETURN NEW",
    'LET a = (FOR d IN c LET b = (FOR e IN c RETURN e._key) RETURN b) RETURN LENGTH(a)',
  ])('gives every node an id of its own, and each depends on one that stands before it: %s', (text) => {
    const nodes = all(explainPlan(planQuery({ text })).nodes);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
    expect(nodes.some(({ type }) => type === 'RemoteNode')).toBe(true);
    const inSequence = (sequence: readonly ExplainedNode[]): void => {
      for (const [at, { dependencies, nodes: inner }] of sequence.entries()) {
        const before = new Set(sequence.slice(0, at).map(({ id }) => id));
        for (const id of dependencies) expect(before).toContain(id);
        inSequence(inner ?? []);
      }
    };
    inSequence(explainPlan(planQuery({ text })).nodes);
    for (const [at, { type, dependencies }] of nodes.entries())
      if (type === 'GatherNode') expect(nodes[at - 1]).toMatchObject({ type: 'RemoteNode', id: dependencies[0] });
  });
});

describe('planQuery: the plan as text', () => {
  it('shows a statement of adapters as a node, its parts as text, and reaches for nothing (R21)', () => {
    expect(plan('LLM ADAPTER LIST')).toBe(['COOR Singleton', 'COOR Adapter action=list', 'COOR Return value=#0'].join('\n'));
    const text = "LLM ADAPTER LOAD CONCAT(@folder, '/a.gguf') DOMAIN 'law' SHARD 's1' OPTIONS {scale: 0.5}";
    expect(plan(text, { folder: '/x' })).toContain('COOR Adapter action=load subject=CONCAT("/x", "/a.gguf") domain="law" shard="s1"');
    expect(planQuery({ text: 'LLM ADAPTER LIST' }).collections).toEqual([]);
    expect(failure('LLM ADAPTER UNLOAD @name').code).toBe('AQL_BIND_MISSING');
    expect(failure('LLM ADAPTER UNLOAD name').code).toBe('AQL_VARIABLE_UNKNOWN');
  });

  it('shows the statement that embeds stored rows where it works, and takes no text that is not a matter of the row alone (R28)', () => {
    const text = 'LLM EMBED @m FOR d IN passages FROM CONCAT(d.title, d.text) INTO @into OPTIONS {truncate: true}';
    const bindVars = { m: 'default', into: 'vector' };
    expect(plan(text, bindVars)).toContain('DBS EmbedRows collection=passages model=default text=CONCAT(d.title, d.text) into=vector');
    expect(planQuery({ text, bindVars }).collections).toEqual([{ name: 'passages', access: 'write' }]);
    const refused = (source: string, into = 'v'): string => failure(`LLM EMBED 'm' FOR d IN c FROM ${source} INTO ${into}`).code;
    expect(refused('(FOR x IN c RETURN x.t)')).toBe('AQL_ACCESS_AFTER_WRITE');
    expect(refused('(FOR x IN [1] RETURN x)')).toBe('NOT_SUPPORTED');
    expect(refused("INFER 'm' d.t")).toBe('NOT_SUPPORTED');
    expect(refused('CONCAT(d.t, RAND())')).toBe('NOT_SUPPORTED');
    expect(refused('other.t')).toBe('AQL_VARIABLE_UNKNOWN');
    expect(refused('d.t', '_key')).toBe('AQL_PARSE');
    expect(failure("LLM EMBED 'm' FOR d IN c FROM d.t INTO v OPTIONS {truncate: RAND()}").code).toBe('AQL_OPTION_INVALID');
  });

  it('embeds each document on its shard, before the writes, and adds the counts (paper §IV-E)', () => {
    const text =
      "FOR d IN passages FILTER d.vector == null UPDATE d WITH {vector: EMBED 'default' d.text} IN passages COLLECT WITH COUNT INTO n RETURN n";
    expect(plan(text)).toMatchInlineSnapshot(`
      "COOR Singleton
      DBS EnumerateCollection collection=passages outVariable=d
      DBS Filter condition=(d.vector == null)
      DBS Embed outVariable=#1 model=default input=d.text
      DBS Update collection=passages key=d document={"vector": #1}
      DBS Collect count=n
      DBS Remote
      COOR Gather collection=passages mode=count writes=true
      COOR Return value=n"
    `);
  });

  it('asks a model for the rows that remain, at the coordinator, in one node', () => {
    const text = `FOR d IN passages FILTER d.domain == 'medical' SORT d._key LIMIT 16
      RETURN {k: d._key, title: INFER 'default' CONCAT("Give a title: ", d.text) OPTIONS {max_tokens: 12}}`;
    expect(plan(text)).toMatchInlineSnapshot(`
      "COOR Singleton
      DBS EnumerateCollection collection=passages outVariable=d
      DBS Filter condition=(d.domain == "medical")
      DBS Calculation outVariable=#1 expression=d._key
      DBS Sort keys=["#1 ASC"] limit=16 strategy=constrained-heap
      DBS Limit offset=0 limit=16
      DBS Remote
      COOR Gather collection=passages mode=sorted keys=["#1 ASC"]
      COOR Limit offset=0 limit=16
      COOR Infer outVariable=#2 model=default prompt=CONCAT("Give a title: ", d.text)
      COOR Return value={"k": d._key, "title": #2}"
    `);
  });

  it('retrieves the nearest passages of every shard and asks once', () => {
    const text = `LET q = EMBED 'default' @question
      LET ctx = (FOR d IN passages FILTER d.domain == 'legal' SORT COSINE_SIMILARITY(d.vector, q) DESC LIMIT 3 RETURN d.text)
      RETURN INFER 'default' @question CONTEXT ctx DOMAIN 'legal'`;
    expect(plan(text, { question: 'who?' })).toMatchInlineSnapshot(`
      "COOR Singleton
      COOR Embed outVariable=q model=default input="who?"
      COOR Subquery outVariable=ctx
        COOR Singleton
        DBS EnumerateCollection collection=passages outVariable=d
        DBS Filter condition=(d.domain == "legal")
        DBS Calculation outVariable=#2 expression=COSINE_SIMILARITY(d.vector, q)
        DBS Sort keys=["#2 DESC"] limit=3 strategy=constrained-heap
        DBS Limit offset=0 limit=3
        DBS Remote
        COOR Gather collection=passages mode=sorted keys=["#2 DESC"]
        COOR Limit offset=0 limit=3
        COOR Return value=d.text
      COOR Infer outVariable=#4 model=default prompt="who?" domain="legal" context=ctx
      COOR Return value=#4"
    `);
  });

  it('inserts at the coordinator', () =>
    expect(plan('INSERT {_key: "x1", text: "t"} INTO passages RETURN NEW')).toMatchInlineSnapshot(`
    "COOR Singleton
    COOR Insert collection=passages document={"_key":"x1","text":"t"}
    COOR Return value=NEW"
  `));

  it('makes no call in a branch that is not taken', () =>
    expect(plan("RETURN true ? 1 : INFER 'm' 'x'")).toMatchInlineSnapshot(`
      "COOR Singleton
      COOR Calculation outVariable=#0 expression=true
      COOR Infer outVariable=#1 model=m prompt="x" onlyIf=["!#0"]
      COOR Return value=(#0 ? 1 : #1)"
    `));

  it('tests cheap conditions first', () =>
    expect(plan("FOR d IN tickets FILTER d.open && INFER 'm' d.text LIMIT 5 RETURN d._key")).toMatchInlineSnapshot(`
      "COOR Singleton
      DBS EnumerateCollection collection=tickets outVariable=d
      DBS Calculation outVariable=#1 expression=d.open
      DBS Filter condition=#1
      DBS Remote
      COOR Gather collection=tickets mode=unsorted
      COOR Infer outVariable=#2 model=m prompt=d.text onlyIf=["#1"]
      COOR Filter condition=#2
      COOR Limit offset=0 limit=5
      COOR Return value=d._key"
    `));

  it('reads one shard for one key', () =>
    expect(plan("FOR d IN c FILTER d._key == 'a' RETURN d")).toMatchInlineSnapshot(`
    "COOR Singleton
    DBS Index collection=c outVariable=d index=primary key="a"
    DBS Filter condition=(d._key == "a")
    DBS Remote
    COOR Gather collection=c mode=unsorted shards=one key="a"
    COOR Return value=d"
  `));

  it('reads the owners alone for a list of keys, also from a variable, and plans no point read for what varies by document', () => {
    expect(plan("LET k = ['a', 'b'] FOR d IN c FILTER d._key IN k && d.x RETURN d")).toContain(
      'DBS Index collection=c outVariable=d index=primary keys=k',
    );
    for (const condition of ['d._key IN d.keys', 'd._key NOT IN ["a"]', 'd._key == RAND()', '["a"] ALL == d._key', 'd.x IN ["a"]'])
      expect(plan(`FOR d IN c FILTER ${condition} RETURN d`)).toContain('DBS EnumerateCollection collection=c outVariable=d\n');
  });

  it('reads one shard for one id', () =>
    expect(plan('FOR d IN c FILTER d._id == @id RETURN d', { id: 'c/a' })).toContain(
      'DBS Index collection=c outVariable=d index=primary key="c/a"',
    ));

  it('runs a subquery of a filter once, before the documents are read by what it gives', () =>
    expect(plan('FOR d IN c SORT d.x FILTER d.open && d._key IN (FOR e IN o FILTER e.a == 1 RETURN e.k) RETURN d')).toMatchInlineSnapshot(`
      "COOR Singleton
      COOR Subquery outVariable=#4
        COOR Singleton
        DBS EnumerateCollection collection=o outVariable=e
        DBS Filter condition=(e.a == 1)
        DBS Remote
        COOR Gather collection=o mode=unsorted
        COOR Return value=e.k
      DBS Index collection=c outVariable=d index=primary keys=#4
      DBS Filter condition=(d._key IN #4)
      DBS Calculation outVariable=#1 expression=d.x
      DBS Sort keys=["#1 ASC"]
      DBS Calculation outVariable=#2 expression=d.open
      DBS Remote
      COOR Gather collection=c mode=sorted keys=#4 shards=owners of the keys
      COOR Filter condition=#2
      COOR Return value=d"
    `));

  it.each([
    ['it reads the document', 'FOR d IN c FILTER d._key IN (FOR e IN o FILTER e.a == d.a RETURN e.k) RETURN d'],
    ['it gives another value each time', 'FOR d IN c FILTER d._key IN (FOR i IN 1..2 RETURN TO_STRING(RAND())) RETURN d'],
    ['it asks a model', "FOR d IN c FILTER d._key IN (FOR i IN 1..2 RETURN INFER 'm' i) RETURN d"],
    ['no filter reads it', 'FOR d IN c LET n = (FOR e IN o RETURN 1) RETURN n'],
    ['a COLLECT stands between', 'FOR d IN c COLLECT k = d.k FILTER k IN (FOR e IN o RETURN e.k) RETURN k'],
  ])('leaves a subquery where it is when %s', (_why, text) => {
    const { nodes, rulesApplied } = planQuery({ text });
    expect(rulesApplied).not.toContain('move-subqueries-up');
    expect(nodes[1]?.kind).toBe('Gather');
  });

  it('runs nothing but the scan on shards without rules', () =>
    expect(plan('FOR d IN c FILTER d.a > 1 SORT d.b LIMIT 2 RETURN d.c', {}, ['-all'])).toMatchInlineSnapshot(`
      "COOR Singleton
      DBS EnumerateCollection collection=c outVariable=d
      DBS Remote
      COOR Gather collection=c mode=unsorted
      COOR Filter condition=(d.a > 1)
      COOR Calculation outVariable=#1 expression=d.b
      COOR Sort keys=["#1 ASC"]
      COOR Limit offset=0 limit=2
      COOR Return value=d.c"
    `));

  it('sorts again where several rows enter a collection', () =>
    expect(plan('FOR i IN 1..2 FOR d IN c FILTER d.a == i SORT d.b LIMIT 2 RETURN d.c')).toMatchInlineSnapshot(`
      "COOR Singleton
      COOR EnumerateList outVariable=i list=1..2
      DBS EnumerateCollection collection=c outVariable=d
      DBS Filter condition=(d.a == i)
      DBS Calculation outVariable=#2 expression=d.b
      DBS Sort keys=["#2 ASC"] limit=2 strategy=constrained-heap
      DBS Limit offset=0 limit=2
      DBS Remote
      COOR Gather collection=c mode=unsorted
      COOR Sort keys=["#2 ASC"] limit=2 strategy=constrained-heap
      COOR Limit offset=0 limit=2
      COOR Return value=d.c"
    `));
});

describe('planQuery: LET before SORT LIMIT and behind it ask as often (query 5 of the reference)', () => {
  it.each(["LET a = INFER 'm' d.t SORT d.ts DESC LIMIT 3 RETURN a", "SORT d.ts DESC LIMIT 3 LET a = INFER 'm' d.t RETURN a"])(
    '%s',
    (tail) => {
      const kinds = planQuery({ text: `FOR d IN docs ${tail}` }).nodes.map(({ kind }) => kind);
      expect(kinds).toEqual(['Singleton', 'Gather', 'Limit', 'Infer', 'Return']);
    },
  );
});

describe('planQuery: checks', () => {
  it.each([
    ['LET a = 1 LET a = 2 RETURN a', 1511, 'declared twice, at 1:15'],
    ['FOR d IN c FOR d IN e RETURN d', 1511, '1:16'],
    ['FOR doc IN c RETURN dco.a', 1512, "did you mean 'doc'?"],
    ['FOR d IN c COLLECT a = d.a RETURN d', 1512, "unknown variable 'd'"],
    ['RETURN CONCTA("a")', 1540, 'did you mean CONCAT()?'],
    ['RETURN constructor()', 1540, 'unknown function'],
    ['RETURN LOWER()', 1541, 'takes 1 arguments, not 0'],
    ['RETURN SUBSTRING("a", 1, 2, 3)', 1541, '2 to 3'],
    ['RETURN @a', 1551, '@a'],
    ['FOR d IN c COLLECT AGGREGATE n = IS_NUMBER(d) RETURN n', 1574, 'no aggregate function'],
    ['INSERT {} INTO c FOR d IN c RETURN d', 1579, "collection 'c'"],
    ['FOR d IN c REMOVE d IN c INSERT {} INTO c', 1579, "collection 'c'"],
    ['FOR d IN c LIMIT -1 RETURN d', 1501, 'LIMIT'],
    ['FOR d IN c LIMIT d.a RETURN d', 1501, 'LIMIT'],
    ['INSERT {} INTO c OPTIONS {keepNull: 3}', 1575, 'keepNull'],
  ])('%s', (text, errorNum, message) => {
    const error = failure(text);
    expect(error.errorNum).toBe(errorNum);
    expect(error.message).toContain(message);
  });

  it('is 1552 for a surplus parameter', () => expect(failure('RETURN 1', { a: 1 }).errorNum).toBe(1552));
  it('is 1553 for a collection that is no string', () => expect(failure('FOR d IN @@c RETURN d', { '@c': 1 }).errorNum).toBe(1553));
  it('names the requirement of a documented function that is absent', () =>
    expect(failure('FOR d IN c SORT BM25(d) RETURN d')).toMatchObject({ code: 'NOT_SUPPORTED', data: { requirement: 'R10' } }));

  it('lists collections with what is done to them', () =>
    expect(planQuery({ text: 'FOR d IN a INSERT d INTO @@b', bindVars: { '@b': 'b' } }).collections).toEqual([
      { name: 'a', access: 'read' },
      { name: 'b', access: 'write' },
    ]));

  it('is plain JSON', () => {
    const planned = planQuery({ text: 'FOR d IN a FILTER d.x[* FILTER CURRENT > 1].y ANY == 2 SORT d.z RETURN MERGE(d, {b: 1..2})' });
    expect(JSON.parse(JSON.stringify(planned))).toEqual(planned);
  });
});
