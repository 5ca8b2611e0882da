import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import koffi from 'koffi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ggmlTypes } from '../../../src/platform/node/llama/ggmlTypes.js';
import { locateLlamaLibraries } from '../../../src/platform/node/llama/locateLlamaLibraries.js';
import { encodeSketch, sketchModel } from '../../support/GgufSketch.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ostraka-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('what the reader takes of changed model files does not end the process in llama.cpp (R18)', async () => {
  const file = join(folder, 'model.gguf');
  const bytes = encodeSketch(sketchModel());
  writeFileSync(file, bytes);
  const descriptionBytes = bytes.indexOf('blk.0.ffn_down.weight') + 61;
  const { stdout } = await promisify(execFile)(process.execPath, [
    'test/support/loadChangedModels.mjs',
    file,
    ...[descriptionBytes, 18, 400].map(String),
  ]);
  const { refused, loaded, refusedByLibrary } = JSON.parse(stdout) as { refused: number; loaded: number; refusedByLibrary: number };
  expect(refused + loaded + refusedByLibrary).toBe(400);
  expect(refused).toBeGreaterThan(100);
  expect(loaded).toBeGreaterThan(10);
});

it('the table of tensor types is that of the library', () => {
  const { folder: libraries } = locateLlamaLibraries();
  const file = readdirSync(libraries).find((name) => /^libggml-base\.(so|dylib)$/.test(name)) as string;
  const library = koffi.load(join(libraries, file));
  const valuesPerBlock = library.func('ggml_blck_size', 'int64', ['int']);
  const bytesPerBlock = library.func('ggml_type_size', 'size_t', ['int']);
  const nameOf = library.func('ggml_type_name', 'str', ['int']);
  for (const [number, known] of ggmlTypes)
    expect({ name: nameOf(number), valuesPerBlock: Number(valuesPerBlock(number)), bytesPerBlock: Number(bytesPerBlock(number)) }).toEqual(
      known,
    );
});
