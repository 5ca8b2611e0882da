import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EmbeddingJob, EmbeddingQueue } from './EmbeddingQueue.js';

const packTokensMax = 128;
/** A text whose first token names it. */
const textOf = (name: number, length: number): Int32Array => new Int32Array(length).fill(name);
const vectorOf = (text: Int32Array): Float32Array => Float32Array.of(text[0] as number);

describe('EmbeddingQueue (R23)', () => {
  it('answers every text once, in its place, in packs of one pass', () => {
    const lengths = fc.array(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(lengths, (jobs) => {
        const queue = new EmbeddingQueue({ requestsMax: 8, packTokensMax, passTokensMax: 300 });
        const answers = new Map<number, readonly Float32Array[]>();
        let name = 0;
        for (const [index, texts] of jobs.entries()) {
          const named = texts.map((length) => textOf(name++, length));
          queue.push({ texts: named, onDone: (vectors) => answers.set(index, vectors), onFailed: () => expect.unreachable() });
        }
        for (let pack = queue.nextPack('other'); pack !== undefined; pack = queue.nextPack('other')) {
          expect(pack.tokens <= packTokensMax || pack.texts.length === 1).toBe(true);
          pack.complete(pack.texts.map(vectorOf));
        }
        expect(jobs.flatMap((_, index) => answers.get(index) ?? []).map((vector) => vector[0])).toEqual(
          Array.from({ length: name }, (_, index) => index),
        );
        expect(queue.length).toBe(0);
      }),
    );
  });

  it('lets a small request pass beside a large one', () => {
    const queue = new EmbeddingQueue({ requestsMax: 8, packTokensMax, passTokensMax: 300 });
    const done: string[] = [];
    const job = (name: string, texts: number): EmbeddingJob => ({
      texts: Array.from({ length: texts }, () => textOf(1, 100)),
      onDone: () => done.push(name),
      onFailed: () => expect.unreachable(),
    });
    queue.push(job('large', 50));
    queue.push(job('small', 1));
    for (let packs = 0; packs < 2; packs++) {
      const pack = queue.nextPack('other');
      pack?.complete(pack.texts.map(vectorOf));
    }
    expect(done).toEqual(['small']);
  });

  it('keeps patient requests out of the packs of others, and answers them one after the other (R28)', () => {
    const queue = new EmbeddingQueue({ requestsMax: 8, packTokensMax, passTokensMax: packTokensMax });
    const done: string[] = [];
    const job = (name: string, texts: number, isPatient: boolean): EmbeddingJob => ({
      texts: Array.from({ length: texts }, () => textOf(1, 60)),
      isPatient,
      onDone: () => done.push(name),
      onFailed: () => expect.unreachable(),
    });
    queue.push(job('first', 4, true));
    queue.push(job('second', 2, true));
    queue.push(job('other', 1, false));
    expect(queue.nextPack('other')?.texts).toHaveLength(1);
    expect(queue.nextPack('other')).toBeUndefined();
    for (let pack = queue.nextPack('patient'); pack !== undefined; pack = queue.nextPack('patient'))
      pack.complete(pack.texts.map(vectorOf));
    expect(done).toEqual(['first', 'second']);
  });

  it('fails every request of a pack, and is bounded', () => {
    const queue = new EmbeddingQueue({ requestsMax: 2, packTokensMax, passTokensMax: 300 });
    const failed: unknown[] = [];
    const job = (): EmbeddingJob => ({
      texts: [textOf(1, 10)],
      onDone: () => expect.unreachable(),
      onFailed: (error) => failed.push(error),
    });
    queue.push(job());
    queue.push(job());
    expect(() => queue.push(job())).toThrow(expect.objectContaining({ code: 'QUEUE_FULL' }));
    const error = new Error('step failed');
    queue.nextPack('other')?.fail(error);
    expect(failed).toEqual([error, error]);
    expect(queue.length).toBe(0);
  });
});
