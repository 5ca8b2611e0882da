import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EmbeddingJob, EmbeddingQueue } from './EmbeddingQueue.js';
import { type EmbeddingPass, EmbeddingTurns } from './EmbeddingTurns.js';

const bounds = { packTokensMax: 128, passTokensMax: 128 };
const open = () => {
  const queue = new EmbeddingQueue({ requestsMax: 8, ...bounds });
  return { queue, turns: new EmbeddingTurns(queue, bounds) };
};
const job = (lengths: readonly number[], onDone: EmbeddingJob['onDone'] = () => undefined): EmbeddingJob => ({
  texts: lengths.map((length) => new Int32Array(length)),
  onDone,
  onFailed: () => expect.unreachable(),
});
const rowsOf = ({ pack, piece }: EmbeddingPass): number => (piece ? piece.to - piece.from : pack.tokens);
const isLast = ({ pack, piece }: EmbeddingPass): boolean => piece === undefined || piece.to === pack.tokens;
const run = (pass: EmbeddingPass): void => {
  if (isLast(pass)) pass.pack.complete(pass.pack.texts.map((text) => Float32Array.of(text.length)));
};

describe('EmbeddingTurns (R23)', () => {
  it('reads every text once and whole, in passes of at most a pack of rows, pieces in order', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(lengths, { minLength: 1, maxLength: 5 }), (jobs) => {
        const { queue, turns } = open();
        const answers: number[][] = [];
        for (const [i, texts] of jobs.entries()) {
          queue.push(
            job(texts, (vectors) => {
              answers[i] = vectors.map(([length]) => length as number);
            }),
          );
        }
        let reading = 0;
        for (let pass = turns.next('other'); pass !== undefined; pass = turns.next('other')) {
          expect(rowsOf(pass)).toBeLessThanOrEqual(bounds.packTokensMax);
          if (pass.piece !== undefined) {
            expect(pass.piece.from).toBe(reading);
            reading = isLast(pass) ? 0 : pass.piece.to;
          }
          run(pass);
        }
        expect(answers).toEqual(jobs);
      }),
    );
  });

  it('between two pieces of a long text others have their turn', () => {
    const { queue, turns } = open();
    queue.push(job([1280]));
    const first = turns.next('other') as EmbeddingPass;
    queue.push(job(new Array<number>(5).fill(100)));
    const kinds = [first, ...Array.from({ length: 9 }, () => turns.next('other') as EmbeddingPass)].map((pass) => {
      run(pass);
      return pass.piece ? 'piece' : 'pack';
    });
    expect(kinds).toEqual(['piece', 'pack', 'piece', 'pack', 'piece', 'pack', 'piece', 'pack', 'piece', 'pack']);
  });

  it('a long patient text begins anew where a long one of others comes, and is not held up by short ones', () => {
    const { queue, turns } = open();
    queue.push({ ...job([600]), isPatient: true });
    expect(turns.next('patient')).toMatchObject({ piece: { from: 0, to: 120 } });
    queue.push(job([5]));
    run(turns.next('other') as EmbeddingPass);
    expect(turns.next('patient')).toMatchObject({ piece: { from: 120 } });
    queue.push(job([300]));
    const own = [turns.next('other'), turns.next('other'), turns.next('other')] as EmbeddingPass[];
    for (const pass of own) run(pass);
    expect(own.map(({ piece }) => piece?.from)).toEqual([0, 100, 200]);
    expect(turns.next('patient')).toMatchObject({ piece: { from: 0 } });
  });

  it('a text that nobody waits for any more is not read on', () => {
    const { queue, turns } = open();
    const [left, other] = [job([1280]), job([1280, 10])];
    queue.push(left);
    queue.push(other);
    expect(turns.next('other')).toMatchObject({ piece: { from: 0, to: 128 } });
    queue.remove(left);
    const passes = [turns.next('other'), turns.next('other')] as EmbeddingPass[];
    expect(passes.map(({ pack }) => pack.tokens)).toEqual([10, 1280]);
    expect(passes[1]).toMatchObject({ piece: { from: 0 } });
    queue.remove(other);
    expect(turns.next('other')).toBeUndefined();
  });
});
