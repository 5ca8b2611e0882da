import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface TestModel {
  readonly name: string;
  readonly path: string;
  readonly digest: string;
}

/** A file named by the environment. The test runner sets these; without them the integration tests fail and say so. */
export function testFile(variable: string): string {
  const path = process.env[variable];
  if (path === undefined) throw new Error(`${variable} must name a file`);
  return path;
}

const digests = new Map<string, string>();

/** Computed once a process: the files have more than a hundred megabytes. */
const digestOf = (path: string): string => {
  const digest = digests.get(path) ?? createHash('sha256').update(readFileSync(path)).digest('hex');
  digests.set(path, digest);
  return digest;
};

const modelOf = (variable: string, name: string): TestModel => {
  const path = testFile(variable);
  return { name, path, digest: digestOf(path) };
};

/** The default models with real weights. */
export function testModels(): { readonly chat: TestModel; readonly embedding: TestModel } {
  return { chat: modelOf('OSTRAKA_TEST_CHAT_MODEL', 'chat'), embedding: modelOf('OSTRAKA_TEST_EMBEDDING_MODEL', 'embedding') };
}
