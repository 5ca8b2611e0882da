import { expect, it } from 'vitest';
import { SleepingClock } from '../../test/support/ManualClock.js';
import { compileExpression, planQuery } from '../aql/index.js';
import { FairTurns } from './FairTurns.js';
import { MemoryAccount } from './MemoryAccount.js';
import { MemoryLimit } from './MemoryLimit.js';
import { executionOptions } from './options.js';
import { Pacer } from './Pacer.js';
import { QueryMemory } from './QueryMemory.js';

const charactersMax = 500_000;

it.each(['REPEAT("x", 100000)', 'CONCAT(@text, "y")', 'SUBSTITUTE(@text, "a", "b")', 'LENGTH(LTRIM(@text))', 'MD5(@text)'])(
  'rows of %s are due to let others run before they have worked through half a million characters',
  (call) => {
    const text = 'a'.repeat(50_000);
    const memory = new MemoryAccount(new MemoryLimit(1e12, new QueryMemory(1e12)));
    const options = executionOptions.parse({});
    const turns = new FairTurns({ clock: new SleepingClock(), options });
    const { signal } = new AbortController();
    const pacer = new Pacer({ turns, part: { owner: {} }, signal, memory, stepsMax: options.expressionStepsMax });
    const plan = planQuery({ text: `FOR i IN 1..9 RETURN [i, NOOPT(${call})]`, bindVars: call.includes('@text') ? { text } : {} });
    const work = plan.nodes.flatMap((node) =>
      node.kind === 'Calculation' ? [node.expression] : node.kind === 'Return' ? [node.value] : [],
    );
    const evaluation = {
      nowMs: 0,
      random: () => 0,
      warn: () => undefined,
      memoryLimitBytes: 1e12,
      scratch: [],
      allocate: () => undefined,
      step: (count: number) => pacer.step(count),
    };
    const compiled = work.map((expression) => compileExpression(expression));
    let rows = 0;
    for (const row: never[] = []; !pacer.isDue; rows++) for (const run of compiled) run(row, evaluation);
    expect(rows * text.length).toBeLessThanOrEqual(charactersMax);
  },
);
