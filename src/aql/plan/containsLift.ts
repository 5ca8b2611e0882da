import type { Expression } from '../syntax/Ast.js';

const liftedCalls = new Set(['INFER', 'EMBED', 'RERANK', 'LENGTH', 'COUNT']);

/** Whether building the expression may append nodes: it holds a subquery or a model call (or a function that may become one). */
export function containsLift(expression: Expression): boolean {
  const pending: unknown[] = [expression];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    const { kind, name } = node as { readonly kind?: unknown; readonly name?: unknown };
    if (kind === 'subquery' || kind === 'infer' || kind === 'embed' || kind === 'rerank') return true;
    if (kind === 'call' && liftedCalls.has(String(name).toUpperCase())) return true;
    pending.push(...Object.values(node).filter((child) => child !== undefined));
  }
  return false;
}
