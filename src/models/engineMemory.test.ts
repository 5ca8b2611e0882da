import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toyDescription } from '../../sim/engine/index.js';
import type { EngineConfig, EngineLauncher, FreeMemory, LaunchedEngine, ModelDescription } from '../platform/index.js';
import { checkEngineMemory } from './checkEngineMemory.js';
import { engineMemoryBound } from './engineMemoryBound.js';
import { type EngineShape, estimateEngineMemory } from './estimateEngineMemory.js';
import { MemoryCheckedLauncher } from './MemoryCheckedLauncher.js';

const describedAs = (change: Partial<ModelDescription> = {}): ModelDescription => ({ ...toyDescription, ...change });
const shapes: fc.Arbitrary<EngineShape> = fc.record({
  chat: fc
    .record({ fileBytes: fc.integer({ min: 1e6, max: 1e12 }), kvBytesPerToken: fc.integer({ min: 1, max: 1e6 }), vocabulary: fc.nat(3e5) })
    .map(describedAs),
  embedding: fc.integer({ min: 1e6, max: 1e9 }).map((fileBytes) => describedAs({ fileBytes, isEncoder: true })),
  sequences: fc.integer({ min: 1, max: 256 }),
  contextTokens: fc.integer({ min: 256, max: 1_048_576 }),
});
const free = (bytes: number): FreeMemory => ({ bytes, totalBytes: 16e9, bound: 'the machine' });

describe('the memory of an engine before it is started (R18)', () => {
  it('of the default models is what a warm engine was measured to hold, within 5 %', () => {
    const embedding = describedAs({
      fileBytes: 46_223_360,
      embeddingLength: 384,
      feedForwardLength: 1536,
      contextTokensMax: 512,
      isEncoder: true,
    });
    const { totalBytes, cellsBytes } = estimateEngineMemory({ chat: describedAs(), embedding, sequences: 16, contextTokens: 2048 });
    expect(cellsBytes).toBe(16 * 2048 * 23_040);
    expect(Math.abs(totalBytes / (1_083_728 * 1024) - 1)).toBeLessThan(0.05);
  });

  it('is the sum of its parts and grows with every figure', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const { totalBytes, ...parts } = estimateEngineMemory(shape);
        expect(totalBytes).toBe(Object.values(parts).reduce((sum, bytes) => sum + bytes, 0));
        expect(Math.min(...Object.values(parts))).toBeGreaterThanOrEqual(0);
        const larger = [
          { ...shape, sequences: shape.sequences + 1 },
          { ...shape, contextTokens: shape.contextTokens + 256 },
          { ...shape, chat: describedAs({ ...shape.chat, fileBytes: (shape.chat?.fileBytes ?? 0) + 1 }) },
        ];
        for (const one of larger) expect(estimateEngineMemory(one).totalBytes).toBeGreaterThan(totalBytes);
      }),
    );
  });

  it('of one model alone is less than of both, by what the other one holds', () => {
    fc.assert(
      fc.property(shapes, (shape) => {
        const both = estimateEngineMemory(shape);
        const chat = estimateEngineMemory({ ...shape, embedding: undefined });
        const embedding = estimateEngineMemory({ ...shape, chat: undefined });
        expect(embedding.cellsBytes + embedding.logitsBytes).toBe(0);
        expect(chat.totalBytes + embedding.totalBytes - both.processBytes).toBe(both.totalBytes);
      }),
    );
  });

  it('refuses exactly what does not fit, with its numbers', () => {
    fc.assert(
      fc.property(shapes, fc.integer({ min: 0, max: 1e13 }), (shape, bytes) => {
        const memory = estimateEngineMemory(shape);
        const data = { neededBytes: memory.totalBytes, freeBytes: bytes, totalBytes: 16e9 };
        const check = () => checkEngineMemory(memory, free(bytes));
        if (memory.totalBytes <= bytes) expect(check).not.toThrow();
        else expect(check).toThrow(expect.objectContaining({ code: 'MODEL_TOO_LARGE', data }));
        expect(() => checkEngineMemory(memory, undefined)).not.toThrow();
      }),
    );
  });

  it('of a model that embeds grows with its longest text: cells of a decoder, buffers of an encoder, and no further than it was trained', () => {
    const of = (isEncoder: boolean, textTokens: number, contextTokensMax = 8192) =>
      estimateEngineMemory({ embedding: describedAs({ isEncoder, contextTokensMax }), sequences: 1, contextTokens: 256, textTokens });
    expect(of(false, 4096).cellsBytes - of(false, 2048).cellsBytes).toBe(2048 * 23_040);
    expect(of(true, 4096).computeBytes).toBeGreaterThan(2 * of(true, 2048).computeBytes);
    expect(of(true, 4096).cellsBytes).toBe(0);
    for (const isEncoder of [true, false]) {
      expect(of(isEncoder, 4096, 512)).toEqual(of(isEncoder, 512));
      expect(of(isEncoder, 1024).totalBytes).toBeGreaterThan(of(isEncoder, 512).totalBytes);
    }
  });

  it('an engine that does not fit is refused before its process is started, one that fits is started', async () => {
    const launched: EngineConfig[] = [];
    const launcher: EngineLauncher = {
      launch: async (config) => {
        launched.push(config);
        return {} as LaunchedEngine;
      },
    };
    let bytes = 1e9;
    const checked = new MemoryCheckedLauncher({ launcher, memory: { read: () => free(bytes) }, describe: () => describedAs() });
    const model = { name: 'm', path: 'm', digest: 'd' };
    const config = { chatModel: model, embeddingModel: model, sequences: 16, contextTokens: 2048, threads: 1, queueRequestsMax: 1 };
    const { signal } = new AbortController();
    await expect(checked.launch(config, signal)).rejects.toMatchObject({
      code: 'MODEL_TOO_LARGE',
      message: expect.stringMatching(/needs about 1\.4 GB .* the machine has 1\.0 GB free of 16\.0 GB.*--no-memory-check/),
    });
    expect(launched).toEqual([]);
    bytes = 2e9;
    const { memoryExpected } = await checked.launch(config, signal);
    expect(launched).toEqual([config]);
    expect(memoryExpected?.startBytes).toBeGreaterThan(1e9);
    expect(memoryExpected?.laterBytes).toBe(268_435_456);
    const small = await checked.launch({ ...config, inference: { kvStoreBytesMax: 5 } }, signal);
    expect(small.memoryExpected?.laterBytes).toBe(5);
  });

  it('is bounded while it runs, never below what it may come to hold, and by what it held when warm where the estimate said less', () => {
    const bytes = fc.nat(1e12);
    fc.assert(
      fc.property(bytes, bytes, bytes, fc.double({ min: 1, max: 100, noNaN: true }), (startBytes, laterBytes, warmBytes, factorMax) => {
        const { bytesMax, baseBytes } = engineMemoryBound({ startBytes, laterBytes, warmBytes, factorMax });
        expect([startBytes, warmBytes]).toContain(baseBytes);
        expect(bytesMax).toBeGreaterThanOrEqual(Math.max(startBytes, warmBytes) + laterBytes);
        expect(bytesMax).toBeLessThanOrEqual(Math.max(startBytes, warmBytes) * factorMax + laterBytes + 1);
      }),
    );
  });
});
