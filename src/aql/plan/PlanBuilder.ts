import type { OstrakaError } from '../../base/index.js';
import type { aqlErrors } from '../errors.js';
import { aqlErrorAt } from '../syntax/aqlErrorAt.js';
import { suggestName } from '../syntax/suggestName.js';
import type { BindParameters } from './BindParameters.js';
import type { VariableId } from './PlanExpression.js';
import type { Guard, PlanNode } from './PlanNode.js';
import type { PlanWarning } from './QueryPlan.js';
import { Scopes } from './Scopes.js';

type WithoutLinks<Node> = Node extends PlanNode ? Omit<Node, 'id' | 'dependencies'> : never;

/** A node before `linkNodes` numbers it. */
export type NodeDraft = WithoutLinks<PlanNode>;

/** State of one planning: the sequence under construction, names in scope, variables, collections, guards of the branch being read. */
export class PlanBuilder {
  readonly text: string;
  readonly binds: BindParameters;
  readonly scopes = new Scopes();
  readonly variables: { id: number; name: string }[] = [];
  readonly collections = new Map<string, 'read' | 'write'>();
  readonly warnings: PlanWarning[] = [];
  #sequence: PlanNode[] = [];
  #guards: readonly Guard[] = [];
  /** Scratch slots that expansions have taken. */
  slotCount = 0;

  constructor(text: string, binds: BindParameters) {
    this.text = text;
    this.binds = binds;
  }

  get guards(): readonly Guard[] {
    return this.#guards;
  }

  append(node: NodeDraft): void {
    this.#sequence.push({ ...node, id: 0, dependencies: [] } as PlanNode);
  }

  /** The nodes that `build` appends, as a sequence of their own, with a scope of their own. */
  sequence(build: () => void): readonly PlanNode[] {
    const outer = { sequence: this.#sequence, guards: this.#guards };
    this.#sequence = [];
    this.#guards = [];
    this.scopes.open();
    this.append({ kind: 'Singleton' });
    build();
    this.scopes.close();
    const built = this.#sequence;
    this.#sequence = outer.sequence;
    this.#guards = outer.guards;
    return built;
  }

  /** What `build` lifts runs only for rows in which the guard holds. */
  guarded<Result>(guard: Guard, build: () => Result): Result {
    const outer = this.#guards;
    this.#guards = [...outer, guard];
    const result = build();
    this.#guards = outer;
    return result;
  }

  newVariable(name?: string): VariableId {
    const id = this.variables.length;
    this.variables.push({ id, name: name ?? `#${id}` });
    return id;
  }

  /** A new variable of the query. Error 1511 where the name is in scope. */
  declare(name: string, at: number): VariableId {
    if (this.scopes.find(name) !== undefined) throw this.errorAt('AQL_VARIABLE_REDECLARED', at, `variable '${name}' is declared twice,`);
    const id = this.newVariable(name);
    this.scopes.declare(name, id);
    return id;
  }

  lookup(name: string, at: number): VariableId {
    const id = this.scopes.find(name);
    if (id !== undefined) return id;
    const near = suggestName(name, this.scopes.names());
    const hint = near === undefined ? '' : `, did you mean '${near}'?,`;
    throw this.errorAt('AQL_VARIABLE_UNKNOWN', at, `unknown variable '${name}'${hint}`);
  }

  /** Notes an access. Error 1579 where the query already wrote the collection: it reads the state before itself. */
  access(collection: string, access: 'read' | 'write', at: number): void {
    if (this.collections.get(collection) === 'write')
      throw this.errorAt('AQL_ACCESS_AFTER_WRITE', at, `collection '${collection}' is used after the query wrote it,`);
    this.collections.set(collection, access);
  }

  errorAt(code: keyof typeof aqlErrors, at: number, message: string): OstrakaError {
    return aqlErrorAt(code, { text: this.text, at }, message);
  }
}
