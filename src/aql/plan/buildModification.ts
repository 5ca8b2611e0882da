import { isObject, type JsonValue } from '../../base/index.js';
import type { Expression, ModificationOperation } from '../syntax/Ast.js';
import { evaluateConstant } from './evaluateConstant.js';
import type { PlanBuilder } from './PlanBuilder.js';
import type { PlanExpression } from './PlanExpression.js';
import type { ModificationNode, ModificationOptions } from './PlanNode.js';

type Builder = { build(expression: Expression): PlanExpression };

const kinds = { insert: 'Insert', update: 'Update', replace: 'Replace', remove: 'Remove' } as const;
const overwriteModes = ['conflict', 'ignore', 'replace', 'update'] as const;

/** Options that ArangoDB documents and that change nothing here: commits are always durable and one query is one transaction. */
const optionsWithoutEffect = new Set([
  'exclusive',
  'waitForSync',
  'readOwnWrites',
  'refillIndexCaches',
  'versionAttribute',
  'forceOneShardAttributeValue',
]);

/** INSERT, UPDATE, REPLACE, REMOVE: NEW and OLD come into scope behind them. */
export function buildModification(builder: PlanBuilder, expressions: Builder, operation: ModificationOperation): void {
  const key = operation.key && expressions.build(operation.key);
  const written = operation.document && expressions.build(operation.document);
  const document = operation.operation === 'remove' ? undefined : (written ?? key);
  const collection = collectionName(builder, operation.collection);
  const options = readOptions(builder, expressions, operation.options);
  builder.access(collection, 'write', operation.collection.at);
  const node: Omit<ModificationNode, 'id' | 'dependencies'> = {
    kind: kinds[operation.operation],
    collection,
    ...(key && { key }),
    ...(document && { document }),
    options,
    ...declareResults(builder, operation.operation),
  };
  builder.append(node);
}

function collectionName(builder: PlanBuilder, collection: Expression): string {
  if (collection.kind === 'collectionBind') return builder.binds.collection(collection.name, collection.at);
  return collection.kind === 'reference' ? collection.name : '';
}

function declareResults(builder: PlanBuilder, operation: ModificationOperation['operation']) {
  const result = (name: 'NEW' | 'OLD') => {
    const id = builder.newVariable(name);
    builder.scopes.declare(name, id);
    return id;
  };
  const oldVariable = result('OLD');
  return operation === 'remove' ? { oldVariable } : { oldVariable, newVariable: result('NEW') };
}

function readOptions(builder: PlanBuilder, expressions: Builder, options: Expression | undefined): ModificationOptions {
  const value = options ? evaluateConstant(expressions.build(options)) : {};
  const at = options?.at ?? 0;
  if (!isObject(value)) throw builder.errorAt('AQL_OPTION_INVALID', at, 'OPTIONS takes a constant object,');
  const known = ['ignoreErrors', 'keepNull', 'mergeObjects', 'ignoreRevs', 'overwrite', 'overwriteMode'];
  for (const name of Object.keys(value))
    if (!known.includes(name) && !optionsWithoutEffect.has(name))
      builder.warnings.push({ code: 1578, message: `unknown option '${name}'` });
  const flag = (name: string, otherwise: boolean): boolean => {
    const given = value[name] ?? otherwise;
    if (typeof given !== 'boolean') throw builder.errorAt('AQL_OPTION_INVALID', at, `option ${name} takes true or false,`);
    return given;
  };
  return {
    ignoreErrors: flag('ignoreErrors', false),
    keepNull: flag('keepNull', true),
    mergeObjects: flag('mergeObjects', true),
    ignoreRevs: flag('ignoreRevs', true),
    overwriteMode: overwriteMode(builder, at, value['overwriteMode'] ?? (flag('overwrite', false) ? 'replace' : 'conflict')),
  };
}

function overwriteMode(builder: PlanBuilder, at: number, value: JsonValue): ModificationOptions['overwriteMode'] {
  const mode = overwriteModes.find((candidate) => candidate === value);
  if (mode === undefined) throw builder.errorAt('AQL_OPTION_INVALID', at, `option overwriteMode takes ${overwriteModes.join(', ')},`);
  return mode;
}
