import type { Ast, Expression } from './syntax/Ast.js';

export interface AstDescription {
  /** Names that can only be collections, each once; collection parameters as `@@name`. */
  readonly collections: readonly string[];
  /** As in bindVars: collection parameters with one leading `@`. */
  readonly bindVars: readonly string[];
}

/** What the parse API tells of a query without its bind parameters. */
export function describeAst(ast: Ast): AstDescription {
  const collections = new Set<string>();
  const declared = new Set<string>();
  const nodes = allNodes(ast.operations);
  for (const node of nodes) if ('variable' in node && typeof node['variable'] === 'string') declared.add(node['variable']);
  const note = (source: Expression): void => {
    if (source.kind === 'collectionBind') collections.add(`@@${source.name}`);
    if (source.kind === 'reference' && !declared.has(source.name)) collections.add(source.name);
  };
  for (const collection of ast.withCollections) note(collection);
  for (const node of nodes) {
    if (node['kind'] === 'for') note(node['source'] as Expression);
    if (node['kind'] === 'modification' || node['kind'] === 'embedRows') note(node['collection'] as Expression);
  }
  return { collections: [...collections], bindVars: ast.bindParameters };
}

type AnyNode = { readonly [name: string]: unknown };

function allNodes(root: unknown): readonly AnyNode[] {
  const found: AnyNode[] = [];
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const node = pending.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (!Array.isArray(node)) found.push(node as AnyNode);
    pending.push(...Object.values(node).reverse());
  }
  return found;
}
