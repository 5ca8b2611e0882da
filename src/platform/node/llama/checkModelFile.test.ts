import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { platformError } from '../../index.js';
import { checkModelFile } from './checkModelFile.js';

describe('checkModelFile: nothing that native code could fall over', () => {
  let folder: string;
  const adapter = readFileSync('sample/adapters/legal.gguf');
  const check = (bytes: Uint8Array) => {
    const path = join(folder, 'file.gguf');
    writeFileSync(path, bytes);
    return checkModelFile(path, (reason) => platformError('MODEL_INVALID', reason));
  };
  const changed = (at: number, bytes: Buffer): Buffer => {
    const copy = Buffer.from(adapter);
    bytes.copy(copy, at);
    return copy;
  };
  const u64 = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return bytes;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-gguf-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('takes a whole adapter and tells its type and digest', () => {
    const { type, digest } = check(adapter);
    expect([type, digest]).toEqual(['adapter', createHash('sha256').update(adapter).digest('hex')]);
  });

  it('tells what stands in its description: numbers and texts by name, tensors with their dimensions', () => {
    const { metadata, tensors } = check(adapter).facts;
    expect(metadata.get('general.architecture')).toBe('llama');
    expect(metadata.get('adapter.lora.alpha')).toBe(16);
    expect(tensors).toHaveLength(30 * 4 * 2);
    expect(tensors.find(({ name }) => name === 'blk.0.attn_k.weight.lora_b')).toMatchObject({ dimensions: [8, 192], type: 1 });
  });

  it('refuses it at every shorter length, with a reason', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(adapter.length - 1), fc.nat(40_000), fc.constant(adapter.length - 1)), (length) => {
        expect(() => check(adapter.subarray(0, length))).toThrowError(expect.objectContaining({ code: 'MODEL_INVALID' }));
      }),
      { numRuns: 60 },
    );
    expect(() => check(adapter.subarray(0, adapter.length - 1))).toThrowError(
      /truncated: tensor \S+ ends at byte 1859744, the file at 1859743/,
    );
  });

  it.each(['general.type', 'general.architecture', 'adapter.type', 'adapter.lora.alpha'])(
    'refuses another type of %s, over which native code would end the process',
    (key) => {
      const at = adapter.indexOf(key) + key.length;
      const wrong = Buffer.alloc(4);
      wrong.writeUInt32LE(adapter.readUInt32LE(at) === 6 ? 5 : 4); // four bytes wide, as a number is
      expect(() => check(changed(at, wrong))).toThrowError(new RegExp(`the metadata entry ${key} has the wrong type`));
    },
  );

  it.each([
    ['nothing', Buffer.alloc(0), /too short/],
    ['no magic', Buffer.alloc(100, 7), /not a GGUF/],
    ['another version', changed(4, Buffer.from([9])), /version 9/],
    ['more tensors than fit', changed(8, u64(2n ** 42n)), /shorter than its header/],
    ['more entries than fit', changed(16, u64(2n ** 64n - 1n)), /more than any file has/],
    ['a name longer than the file', changed(24, u64(2n ** 42n)), /truncated/],
    ['an unknown type of value', changed(24 + 8 + 12, Buffer.from([77])), /unknown type 77/],
  ])('refuses %s', (_name, bytes, reason) => {
    expect(() => check(bytes)).toThrowError(expect.objectContaining({ code: 'MODEL_INVALID', message: expect.stringMatching(reason) }));
  });

  it('ends on any damage to its description, in a result or in MODEL_INVALID', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.uint8Array({ minLength: 1, maxLength: 16 }), (at, bytes) => {
        try {
          expect(check(changed(at, Buffer.from(bytes))).digest).toHaveLength(64);
        } catch (error) {
          expect(error).toMatchObject({ code: 'MODEL_INVALID' });
        }
      }),
      { numRuns: 60 },
    );
  });

  it('refuses a file that is not there', () => {
    expect(() => checkModelFile(join(folder, 'none.gguf'), (reason) => platformError('MODEL_INVALID', reason))).toThrowError(/ENOENT/);
  });
});
