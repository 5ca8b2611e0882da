import type { VariableId } from './PlanExpression.js';

/** Names in scope, innermost last. A frame is opened by a subquery; COLLECT clears the frame it stands in. */
export class Scopes {
  readonly #frames: Map<string, VariableId>[] = [new Map()];

  open(): void {
    this.#frames.push(new Map());
  }

  close(): void {
    this.#frames.pop();
  }

  declare(name: string, id: VariableId): void {
    this.#frames.at(-1)?.set(name, id);
  }

  /** The frame's own variables leave scope; what a surrounding query declared stays. */
  clearFrame(): void {
    this.#frames.at(-1)?.clear();
  }

  find(name: string): VariableId | undefined {
    return this.#frames.findLast((frame) => frame.has(name))?.get(name);
  }

  names(): readonly string[] {
    return this.#frames.flatMap((frame) => [...frame.keys()]);
  }

  frameVariables(): readonly { readonly name: string; readonly variable: VariableId }[] {
    return [...(this.#frames.at(-1) ?? [])].map(([name, variable]) => ({ name, variable }));
  }
}
