import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OstrakaError } from '../../base/index.js';
import { HttpClient } from '../HttpClient.js';
import { packageFolder } from '../packageFolder.js';
import { writeFileWhole } from '../writeFileWhole.js';

const database = 'sample';
const collection = 'passages';
const batchSize = 60;

const ignoring = async (code: string, work: Promise<unknown>): Promise<void> => {
  await work.catch((error: unknown) => {
    if (!(error instanceof OstrakaError) || error.code !== code) throw error;
  });
};

/**
 * Loads the sample database on the first run; later runs find it, and leave it as its user made it: what was removed stays removed. A load
 * that was cut is completed, not repeated.
 */
export async function loadSample(request: {
  readonly url: string;
  /** Where it is kept that the sample was loaded whole. */
  readonly dataFolder: string;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}): Promise<void> {
  const marker = join(request.dataFolder, 'sample.json');
  if (await isThere(marker)) return;
  await load(request);
  if (!request.signal.aborted) await writeFileWhole(marker, '{"loaded":true}\n', { mode: 0o644 });
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const load = async (request: Parameters<typeof loadSample>[0]): Promise<void> => {
  const client = new HttpClient({ url: request.url });
  await ignoring('NAME_EXISTS', client.request('POST', '/_api/database', { name: database }));
  await ignoring('NAME_EXISTS', client.request('POST', `/_db/${database}/_api/collection`, { name: collection }));
  const text = await readFile(new URL('sample/passages.jsonl', packageFolder), 'utf8');
  const passages = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  const { count } = await client.request<{ readonly count: number }>('GET', `/_db/${database}/_api/collection/${collection}/count`);
  if (count >= passages.length) return;
  for (let from = 0; from < passages.length && !request.signal.aborted; from += batchSize) {
    const answers = await client.request<readonly { readonly error?: boolean; readonly errorMessage?: string }[]>(
      'POST',
      `/_db/${database}/_api/document/${collection}?overwriteMode=ignore`,
      passages.slice(from, from + batchSize),
    );
    const failed = answers.find(({ error }) => error);
    if (failed) throw new Error(`the sample could not be loaded: ${failed.errorMessage}`);
    request.report(`sample: ${Math.min(from + batchSize, passages.length)}/${passages.length} passages`);
  }
};
