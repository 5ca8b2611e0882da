import { compileExpression, type ModificationNode } from '../../aql/index.js';
import { isObject, type JsonValue } from '../../base/index.js';
import { checkDocumentKey, storageError } from '../../storage/index.js';
import { type DocumentWrite, revisionOfSubject, type WriteOutcome } from '../applyWrites.js';
import { blockRowsMax, type Operator, type Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { documentKeyOf } from '../documentKeyOf.js';
import type { KeyGenerator } from '../KeyGenerator.js';
import type { SequenceContext } from '../SequenceContext.js';

/**
 * INSERT, UPDATE, REPLACE, REMOVE. It reads all its input before the first write: the statement does not see its own changes, and every
 * model call before it has ended (R14: no write waits for a model).
 */
export function modificationOperator(node: ModificationNode, context: SequenceContext, keys: KeyGenerator): Operator {
  const toWrite = writeOf(node, context, keys);
  return async function* (input) {
    const rows: Row[] = [];
    let bytes = 0;
    for await (const block of input) {
      for (const row of block) bytes += context.memory.hold(row);
      rows.push(...block);
      await context.pacer.pace();
    }
    for (const block of chunked(rows, blockRowsMax)) {
      const outcomes = await context.site.write(node, block.map(toWrite));
      const written = block.filter((row, i) => takeOutcome(node, context, row, outcomes[i]));
      if (written.length > 0) yield written;
      await context.pacer.pace();
    }
    context.memory.release(bytes);
  };
}

function writeOf(node: ModificationNode, context: SequenceContext, keys: KeyGenerator): (row: Row) => DocumentWrite {
  const subject = node.key && compileExpression(node.key);
  const content = node.document && compileExpression(node.document);
  return (row) => {
    const document = content && documentOf(content(row, context.evaluation));
    if (!subject) return insertOf(document ?? {}, keys);
    const named = subject(row, context.evaluation);
    const key = documentKeyOf(named, node.collection);
    return { key, ...(document && { document }), ...revisionOfSubject(named, node.options) };
  };
}

const documentOf = (value: JsonValue): { readonly [name: string]: JsonValue } => {
  if (isObject(value)) return value;
  throw storageError('DOCUMENT_TYPE_INVALID', 'a document must be an object');
};

/** An own `_key` is checked, a missing or null one is made. */
const insertOf = (document: { readonly [name: string]: JsonValue }, keys: KeyGenerator): DocumentWrite => {
  const own = Object.hasOwn(document, '_key') ? document['_key'] : null;
  const key = own === null || own === undefined ? keys.next() : checkDocumentKey(own);
  return { key, document: own === key ? document : { ...document, _key: key } };
};

/** Writes NEW and OLD into the row; false where the change failed and the row ends here. */
function takeOutcome(node: ModificationNode, context: SequenceContext, row: Row, outcome: WriteOutcome | undefined): boolean {
  if (outcome === undefined || outcome.kind === 'error') {
    context.stats.writesIgnored++;
    return false;
  }
  if (outcome.kind === 'ignored') context.stats.writesIgnored++;
  else context.stats.writesExecuted++;
  const written = outcome.kind === 'written' ? outcome : { new: null, old: null };
  if (node.newVariable !== undefined) row[node.newVariable] = written.new;
  if (node.oldVariable !== undefined) row[node.oldVariable] = written.old;
  return true;
}
