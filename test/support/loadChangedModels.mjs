// Arguments: file, bytes of its description, seed, count. Changes bytes of the description again and again; what the reader takes goes to llama.cpp, which
// must not end this process. Prints how many were refused and how many were loaded.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlamaStepBackend } from '../../dist/src/platform/node/engine.js';
import { checkModelFile } from '../../dist/src/platform/node/index.js';

const [file, ...numbers] = process.argv.slice(2);
const [descriptionBytes, seed, count] = numbers.map(Number);
let state = seed >>> 0 || 1;
const below = (max) => {
  state ^= state << 13;
  state >>>= 0;
  state ^= state >>> 17;
  state ^= state << 5;
  state >>>= 0;
  return state % max;
};

// Most of a description is its vocabulary; its figures and its tensors stand at the ends.
const endBytes = Math.min(700, descriptionBytes);
const place = () => [below(descriptionBytes), below(endBytes), descriptionBytes - 1 - below(endBytes)][below(3)];

const folder = mkdtempSync(join(tmpdir(), 'ostraka-changed-'));
const path = join(folder, 'model.gguf');
const model = readFileSync(file);
const results = { refused: 0, loaded: 0, refusedByLibrary: 0 };
try {
  for (let i = 0; i < count; i++) {
    const changed = Buffer.from(model);
    const changes = Array.from({ length: 1 + below(3) }, () => [place(), below(256)]);
    for (const [at, value] of i === 0 ? [] : changes) changed[at] = value;
    writeFileSync(path, changed);
    let digest;
    try {
      ({ digest } = checkModelFile(path, (reason) => new Error(reason)));
    } catch {
      results.refused++;
      continue;
    }
    process.stderr.write(`${JSON.stringify(changes)}\n`); // the last line says what ended the process
    try {
      const backend = LlamaStepBackend.open({ model: { path, digest }, sequences: 1, contextTokens: 256, threads: 1 });
      const [token = 1] = backend.tokenize('t5 t6', { parseSpecial: false });
      backend.decode([{ token, position: 0, sequence: 0, wantLogits: true }]);
      backend.close();
      results.loaded++;
    } catch {
      results.refusedByLibrary++;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${JSON.stringify(results)}\n`);
