import { type JsonValue, OstrakaError } from '../../base/index.js';
import { inferenceError } from '../errors.js';
import { areDisjoint, typeOfJson } from './areDisjoint.js';
import type { CompileBudget } from './CompileBudget.js';
import { choiceOfTexts } from './choiceOfTexts.js';
import { codePoints } from './codePoints.js';
import { type Expression, emptyText, expr, nothing, type Rules } from './Expression.js';
import { formatPatterns } from './formatPatterns.js';
import { bracketed, jsonRules, plainStringChars } from './jsonRules.js';
import { jsonStringOf } from './jsonStringOf.js';
import { mergeSchemas } from './mergeSchemas.js';
import { integersWithin, type NumberBounds, numbersWithin } from './numbersWithin.js';
import { parseRegex } from './parseRegex.js';
import { annotations, isList, isSchema, type JsonType, type Schema, schemaKeywords, typeOfKeyword } from './schemaKeywords.js';

const many = Number.POSITIVE_INFINITY;
const { text, sequence, choice, repeat, optional, rule } = expr;
// A flattened schema costs about so many steps of a budget whose step is 10 ns.
const flattenSteps = 200;
/** Of each character of two schemas that are merged: they are written out to be compared. */
const mergeSteps = 5;
const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

interface Place {
  readonly schema: JsonValue;
  /** JSON pointer, for names and messages. */
  readonly path: string;
}

/**
 * Translates a JSON schema (a part of draft 2020-12, docs/reference/constraints.md) to rules. Every text of the rules satisfies the schema;
 * not every value that satisfies it has a text: properties come in the order of the schema, and a schema without `type` means the types that
 * its keywords are about. Schemas of equal content share a rule, which is how recursion ends.
 * Errors: CONSTRAINT_INVALID, CONSTRAINT_NOT_SUPPORTED (both name keyword and path), CONSTRAINT_TOO_LARGE.
 */
export class SchemaCompiler {
  readonly #document: JsonValue;
  readonly #budget: CompileBudget;
  readonly #rules = new Map<string, Expression>(jsonRules);
  readonly #names = new Map<string, string>();
  readonly #pending: (Place & { readonly name: string })[] = [];

  constructor(document: JsonValue, budget: CompileBudget) {
    this.#document = isSchema(document) ? Object.fromEntries(Object.entries(document).filter(([keyword]) => keyword !== '$id')) : document;
    this.#budget = budget;
  }

  compile(): Rules {
    this.#rules.set('root', this.#ruleFor({ schema: this.#document, path: '#' }));
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#rules.set(next.name, this.#expression(next));
      this.#budget.check('rulesMax', this.#rules.size);
    }
    return this.#rules;
  }

  #ruleFor(place: Place): Expression {
    const key = JSON.stringify(place.schema);
    this.#budget.step(key.length);
    const known = this.#names.get(key);
    if (known !== undefined) return rule(known);
    const name = `${place.path} ${this.#names.size}`; // merged schemas may share a path
    this.#names.set(key, name);
    this.#pending.push({ ...place, name });
    return rule(name);
  }

  /** Names a part of a rule, so that others can go on there. */
  #part(name: string, expression: Expression): Expression {
    this.#budget.check('rulesMax', this.#rules.size);
    this.#budget.step();
    this.#rules.set(name, expression);
    return rule(name);
  }

  #expression({ schema, path, name }: Place & { readonly name: string }): Expression {
    const flat = this.#flatten({ schema, path });
    if (flat === false) return nothing;
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const { [keyword]: alternatives, ...rest } = flat;
      if (isList(alternatives)) return this.#alternatives({ alternatives, rest, keyword, path });
    }
    if (isList(flat['enum'])) return this.#values(flat['enum'], flat, path);
    const types = (flat['type'] as readonly JsonType[] | undefined) ?? typesMeant(flat);
    return types === undefined ? rule('json.value') : choice(...types.map((type) => this.#typed(type, flat, { path, name })));
  }

  #alternatives(given: {
    readonly alternatives: readonly JsonValue[];
    readonly rest: Schema;
    readonly keyword: 'anyOf' | 'oneOf';
    readonly path: string;
  }): Expression {
    const { alternatives, rest, keyword, path } = given;
    if (keyword === 'oneOf') this.#requireDisjoint(alternatives, path);
    const isAlone = Object.keys(rest).length === 0;
    return choice(
      ...alternatives.map((each, index) =>
        this.#ruleFor({ schema: isAlone ? each : { allOf: [rest, each] }, path: `${path}/${keyword}/${index}` }),
      ),
    );
  }

  /** Alternatives of which two may hold at once would need the complement of a schema; only those that cannot are taken. */
  #requireDisjoint(alternatives: readonly JsonValue[], path: string): void {
    const flatten = (schema: JsonValue): Schema | false => this.#flatten({ schema, path: `${path}/oneOf` });
    for (const [index, left] of alternatives.entries()) {
      for (const right of alternatives.slice(index + 1)) {
        if (!areDisjoint(left, right, flatten)) {
          throw notSupported(
            'oneOf',
            path,
            'two alternatives may hold at once; tell them apart by type, or by a required property with const, or use anyOf',
          );
        }
      }
    }
  }

  #values(values: readonly JsonValue[], flat: Schema, path: string): Expression {
    const types = flat['type'] as readonly JsonType[] | undefined;
    const isOf = (value: JsonValue, type: JsonType): boolean =>
      typeOfJson(value) === type || (type === 'number' && typeof value === 'number');
    const fitting = values.filter((value) => types === undefined || types.some((type) => isOf(value, type)));
    for (const keyword of Object.keys(flat)) {
      const type = typeOfKeyword.get(keyword);
      if (type === undefined || !fitting.some((value) => isOf(value, type))) continue;
      throw notSupported(keyword, path, 'beside enum or const');
    }
    return choiceOfTexts(fitting.map((value) => JSON.stringify(value)));
  }

  #typed(type: JsonType, flat: Schema, at: { readonly path: string; readonly name: string }): Expression {
    switch (type) {
      case 'object':
        return this.#object(flat, at);
      case 'array':
        return this.#array(flat, at);
      case 'string':
        return this.#string(flat, at.path);
      case 'number':
      case 'integer':
        return number(type, flat);
      default:
        return rule(`json.${type}`);
    }
  }

  #string(flat: Schema, path: string): Expression {
    const {
      pattern,
      format,
      minLength = 0,
      maxLength,
    } = flat as { pattern?: string; format?: string; minLength?: number; maxLength?: number };
    const bounded = minLength > 0 || maxLength !== undefined;
    if (pattern !== undefined && format !== undefined) throw notSupported('format', path, 'beside pattern');
    if (bounded && (pattern ?? format) !== undefined) {
      throw notSupported(
        maxLength === undefined ? 'minLength' : 'maxLength',
        path,
        'beside pattern or format; say the length in the pattern',
      );
    }
    if (pattern !== undefined) return this.#pattern(pattern, path);
    if (format !== undefined) return this.#format(format, path);
    if (maxLength !== undefined && maxLength < minLength) return nothing;
    return bounded ? sequence(text('"'), repeat(rule('json.char'), minLength, maxLength ?? many), text('"')) : rule('json.string');
  }

  #pattern(pattern: string, path: string): Expression {
    try {
      return jsonStringOf(parseRegex(pattern, 'search', this.#budget));
    } catch (error) {
      if (!(error instanceof OstrakaError)) throw error;
      const code = error.code as 'CONSTRAINT_INVALID' | 'CONSTRAINT_NOT_SUPPORTED' | 'CONSTRAINT_TOO_LARGE';
      throw inferenceError(code, `${path}/pattern: ${error.message}`, { data: { ...error.data, keyword: 'pattern', path }, cause: error });
    }
  }

  #format(format: string, path: string): Expression {
    const pattern = formatPatterns.get(format);
    if (pattern === undefined) throw notSupported('format', path, `"${format}"; there are ${[...formatPatterns.keys()].join(', ')}`);
    return jsonStringOf(parseRegex(pattern, 'whole', this.#budget));
  }

  #object(flat: Schema, at: { readonly path: string; readonly name: string }): Expression {
    const properties = isSchema(flat['properties']) ? flat['properties'] : {};
    const required = new Set(flat['required'] as readonly string[] | undefined);
    const additional = flat['additionalProperties'];
    const undeclared = [...required].filter((name) => !Object.hasOwn(properties, name));
    const named = [...Object.entries(properties), ...undeclared.map((name) => [name, additional ?? true] as const)];
    if (named.length === 0 && (additional ?? true) === true) return rule('json.object');
    const members = named.map(([name, schema]) => ({
      pair: sequence(
        text(JSON.stringify(name)),
        rule('json.colon'),
        this.#ruleFor({ schema, path: `${at.path}/properties/${escapePointer(name)}` }),
      ),
      required: required.has(name),
    }));
    const extra =
      additional === undefined || additional === false
        ? undefined
        : this.#extraPair(
            additional,
            named.map(([name]) => name),
            at,
          );
    const first = this.#members(members, extra, at.name);
    return bracketed('{', required.size > 0 ? sequence(first, rule('json.space')) : optional(sequence(first, rule('json.space'))), '}');
  }

  /**
   * From each property on there are two ways to go on: with a comma before what comes next, or as the first. So any optional property can be
   * left out, and the size is linear in their number.
   */
  #members(
    members: readonly { readonly pair: Expression; readonly required: boolean }[],
    extra: Expression | undefined,
    name: string,
  ): Expression {
    let rest = extra === undefined ? emptyText : this.#part(`${name} more`, repeat(sequence(rule('json.comma'), extra), 0, many));
    let first = extra === undefined ? nothing : sequence(extra, rest);
    for (let index = members.length - 1; index >= 0; index--) {
      const { pair, required } = members[index] as { readonly pair: Expression; readonly required: boolean };
      const withPair = sequence(pair, rest);
      const later = sequence(rule('json.comma'), pair, rest);
      first = this.#part(`${name} first ${index}`, required ? withPair : choice(withPair, first));
      rest = this.#part(`${name} rest ${index}`, required ? later : choice(later, rest));
    }
    return first;
  }

  #extraPair(schema: JsonValue, names: readonly string[], at: { readonly path: string; readonly name: string }): Expression {
    const value = this.#ruleFor({ schema, path: `${at.path}/additionalProperties` });
    const key = names.length === 0 ? rule('json.string') : sequence(text('"'), this.#otherKey(names, at.name));
    return sequence(key, rule('json.colon'), value);
  }

  /** A key without escapes that is none of `names`, after its opening quote: the tree of the names, left at any place. */
  #otherKey(names: readonly string[], name: string): Expression {
    const tail = this.#part(`${name} key`, sequence(repeat(expr.chars(...plainStringChars), 0, many), text('"')));
    const branches = new Map<string, Set<string>>([['', new Set()]]);
    for (const each of names) {
      let prefix = '';
      for (const char of each) {
        (branches.get(prefix) as Set<string>).add(char);
        prefix += char;
        if (!branches.has(prefix)) branches.set(prefix, new Set());
        this.#budget.step(prefix.length);
        this.#budget.check('rulesMax', branches.size);
      }
    }
    const whole = new Set(names);
    for (const [prefix, nexts] of branches) {
      const points = [...nexts].map((char) => ({ from: char.codePointAt(0) as number, to: char.codePointAt(0) as number }));
      const others = codePoints.without(plainStringChars, points);
      const plain = points.filter(({ from }) => codePoints.contains(plainStringChars, from));
      const alternatives = plain.map((point) =>
        sequence(expr.chars(point), rule(`${name} key ${prefix}${String.fromCodePoint(point.from)}`)),
      );
      this.#part(
        `${name} key ${prefix}`,
        choice(...(whole.has(prefix) ? [] : [text('"')]), sequence(expr.chars(...others), tail), ...alternatives),
      );
    }
    return rule(`${name} key `);
  }

  #array(flat: Schema, at: { readonly path: string; readonly name: string }): Expression {
    const prefix = (flat['prefixItems'] as readonly JsonValue[] | undefined) ?? [];
    const items = flat['items'] ?? true;
    const min = (flat['minItems'] as number | undefined) ?? 0;
    const max = Math.min((flat['maxItems'] as number | undefined) ?? many, items === false ? prefix.length : many);
    if (max < min) return nothing;
    if (max === 0) return bracketed('[', emptyText, ']');
    const itemAt = (index: number): Expression =>
      index < prefix.length
        ? this.#ruleFor({ schema: prefix[index] as JsonValue, path: `${at.path}/prefixItems/${index}` })
        : this.#ruleFor({ schema: items, path: `${at.path}/items` });
    // What follows the item at `from - 1`, built from the last place that differs from the others.
    const same = Math.min(Math.max(prefix.length, 1), max);
    let rest = same >= max ? emptyText : repeat(sequence(rule('json.comma'), itemAt(same)), Math.max(min - same, 0), max - same);
    for (let index = same - 1; index >= 1; index--) {
      const more = sequence(rule('json.comma'), itemAt(index), rest);
      rest = this.#part(`${at.name} item ${index}`, index < min ? more : optional(more));
    }
    const all = sequence(itemAt(0), rest, rule('json.space'));
    return bracketed('[', min === 0 ? optional(all) : all, ']');
  }

  /** Without references and `allOf`; types and values as lists. False: nothing satisfies it. `way`: what leads here, outermost first. */
  #flatten({ schema, path }: Place, way: readonly string[] = []): Schema | false {
    this.#budget.check('nestingMax', way.length);
    this.#budget.step(flattenSteps);
    if (typeof schema === 'boolean') return schema ? {} : false;
    if (!isSchema(schema)) throw invalid(path, 'a schema is an object or a boolean');
    checkKeywords(schema, path);
    let flat: Schema = ownKeywords(schema);
    for (const part of this.#partsOf(schema, path)) {
      if (part.path === schema['$ref'] && way.includes(part.path))
        throw invalid(path, `$ref: "${part.path}" holds only if it holds, which no value decides`);
      const other = this.#flatten(part, [...way, part.path]);
      if (other === false) return false;
      this.#budget.step(mergeSteps * (JSON.stringify(flat).length + JSON.stringify(other).length));
      flat = mergeSchemas(flat, other, {
        refuse: (keyword) => notSupported(keyword, path, 'in two schemas that must hold together'),
        payForPairs: (count) => this.#budget.step(flattenSteps * count),
      });
    }
    return isList(flat['type']) && flat['type'].length === 0 ? false : flat;
  }

  #partsOf(schema: Schema, path: string): readonly Place[] {
    const reference = schema['$ref'];
    const parts = isList(schema['allOf']) ? schema['allOf'].map((each, index) => ({ schema: each, path: `${path}/allOf/${index}` })) : [];
    const values = schema['const'] !== undefined && isList(schema['enum']) ? [{ schema: { enum: schema['enum'] }, path }] : [];
    return typeof reference === 'string' ? [this.#resolve(reference, path), ...values, ...parts] : [...values, ...parts];
  }

  #resolve(reference: string, path: string): Place {
    if (!/^#(\/|$)/.test(reference)) throw notSupported('$ref', path, `"${reference}"; only places of the same schema can be referred to`);
    let schema: JsonValue | undefined = this.#document;
    for (const step of reference.split('/').slice(1)) schema = childOf(schema, unescapePointer(step));
    if (schema === undefined) throw invalid(path, `$ref: there is no "${reference}"`);
    return { schema, path: reference };
  }
}

function childOf(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (isList(value)) return /^[0-9]{1,9}$/.test(step) ? value[Number(step)] : undefined;
  return isSchema(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

function unescapePointer(step: string): string {
  const plain = (encoded: string): string => encoded.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return plain(decodeURIComponent(step));
  } catch {
    return plain(step); // a lone percent sign stands for itself
  }
}

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function checkKeywords(schema: Schema, path: string): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.has(keyword)) continue;
    const form = schemaKeywords.get(keyword);
    if (form === undefined || (keyword === 'uniqueItems' && value === true)) throw notSupported(keyword, path);
    if (keyword === 'items' && isList(value)) throw notSupported(keyword, path, 'as a list; say prefixItems');
    if (!form(value)) throw invalid(path, `the value of ${keyword} has not the form that the keyword asks for`);
  }
}

const composed: ReadonlySet<string> = new Set(['$ref', 'allOf', 'nullable', 'uniqueItems', 'const', 'enum', 'type']);

function ownKeywords(schema: Schema): Schema {
  const own = Object.entries(schema).filter(([keyword]) => !annotations.has(keyword) && !composed.has(keyword));
  const { type, enum: values, const: value, nullable } = schema;
  const types = type === undefined || isList(type) ? type : [type];
  return {
    ...Object.fromEntries(own),
    ...(types !== undefined && { type: [...new Set([...types, ...(nullable === true ? ['null'] : [])])] }),
    ...(value !== undefined ? { enum: [value] } : values !== undefined && { enum: values }),
  };
}

/** Types that the keywords of a schema without `type` are about. */
function typesMeant(flat: Schema): readonly JsonType[] | undefined {
  const types = new Set(Object.keys(flat).flatMap((keyword) => typeOfKeyword.get(keyword) ?? []));
  return types.size === 0 ? undefined : [...types];
}

function number(type: 'number' | 'integer', flat: Schema): Expression {
  if (numberKeywords.every((keyword) => flat[keyword] === undefined)) return rule(`json.${type}`);
  const bounds = Object.fromEntries(
    numberKeywords.flatMap((keyword) => (flat[keyword] === undefined ? [] : [[keyword, flat[keyword]]])),
  ) as NumberBounds;
  return type === 'integer' ? integersWithin(bounds) : numbersWithin(bounds);
}

function invalid(path: string, what: string): OstrakaError {
  return inferenceError('CONSTRAINT_INVALID', `${path}: ${what}`, { data: { path } });
}

function notSupported(keyword: string, path: string, detail = ''): OstrakaError {
  const message = `${path}: the keyword "${keyword}" is not enforced here${detail === '' ? '' : ` (${detail})`}`;
  return inferenceError('CONSTRAINT_NOT_SUPPORTED', message, { data: { keyword, path } });
}
