import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { absentFunctions } from './absentFunctions.js';
import { functionTable } from './functionTable.js';

it('is the list of docs/reference/aql.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/aql.md', import.meta.url), 'utf8');
  const listed = page.slice(page.indexOf('## Functions')).match(/\b[A-Z][A-Z0-9_]+\b/g) ?? [];
  const documented = new Set(listed.filter((name) => !['RE2', 'JSON'].includes(name)));
  expect([...functionTable.keys()].filter((name) => !documented.has(name))).toEqual([]);
  expect([...documented].filter((name) => !functionTable.has(name))).toEqual([]);
});

it('has no function that is called absent', () =>
  expect([...absentFunctions.keys()].filter((name) => functionTable.has(name))).toEqual([]));
