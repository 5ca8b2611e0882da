import type { JsonValue } from '../../base/index.js';
import { aqlError } from '../errors.js';
import type { Ast } from '../syntax/Ast.js';
import { aqlErrorAt } from '../syntax/aqlErrorAt.js';

/** The values of a query's bind parameters, checked against the names the query uses: 1551 missing, 1552 surplus, 1553 wrong type. */
export class BindParameters {
  readonly #values: ReadonlyMap<string, JsonValue>;
  readonly #text: string;

  constructor(ast: Ast, bindVars: { readonly [name: string]: JsonValue }) {
    this.#text = ast.text;
    this.#values = new Map(Object.entries(bindVars));
    const used = new Set(ast.bindParameters);
    const missing = ast.bindParameters.filter((name) => !this.#values.has(name));
    if (missing.length > 0) throw aqlError('AQL_BIND_MISSING', `no value for bind parameter ${listed(missing)}`, { data: { missing } });
    const surplus = [...this.#values.keys()].filter((name) => !used.has(name));
    if (surplus.length > 0)
      throw aqlError('AQL_BIND_UNDECLARED', `bind parameter ${listed(surplus)} is not in the query`, { data: { surplus } });
  }

  value(name: string): JsonValue {
    return this.#values.get(name) ?? null;
  }

  /** The name of a collection, bound under `@name`. */
  collection(name: string, at: number): string {
    return this.text(`@${name}`, at, 'the name of a collection');
  }

  text(name: string, at: number, what: string): string {
    const value = this.value(name);
    if (typeof value === 'string' && value !== '') return value;
    throw aqlErrorAt('AQL_BIND_TYPE', { text: this.#text, at }, `bind parameter @${name} must be a string, ${what},`);
  }
}

const listed = (names: readonly string[]): string => names.map((name) => `@${name}`).join(', ');
