import { HttpClient } from '../HttpClient.js';
import { withJobBar } from '../jobs/withJobBar.js';
import { parseBind } from '../parseBind.js';

interface CursorAnswer {
  readonly result: readonly unknown[];
  readonly hasMore: boolean;
  readonly id?: string;
  /** In the last part alone. */
  readonly extra?: { readonly warnings?: readonly { readonly code: number; readonly message: string }[] };
}

/** The one statement that takes long and tells how far it is. */
const embedsRows = /^\s*llm\s+embed\b.*\bfor\b/is;

/** `ostraka query 'AQL'`: prints one result a line, or the whole answer with --json. Warnings go to standard error. */
export async function queryCommand(
  query: string,
  options: {
    readonly bind: readonly string[];
    readonly url: string;
    readonly db: string;
    readonly explain: boolean;
    readonly json: boolean;
  },
): Promise<void> {
  const client = new HttpClient({ url: options.url });
  const base = `/_db/${encodeURIComponent(options.db)}`;
  const body = { query, bindVars: Object.fromEntries(options.bind.map(parseBind)) };
  if (options.explain) {
    print(await client.request('POST', `${base}/_api/explain`, body));
    return;
  }
  const ask = (): Promise<CursorAnswer> => client.request('POST', `${base}/_api/cursor`, body);
  const isShown = process.stderr.isTTY === true && embedsRows.test(query);
  let part = await (isShown ? withJobBar(client, ask) : ask());
  const result = [...part.result];
  while (part.hasMore) {
    part = await client.request<CursorAnswer>('POST', `${base}/_api/cursor/${part.id}`);
    for (const row of part.result) result.push(row);
  }
  const { extra } = part;
  if (options.json) print({ result, extra });
  else for (const row of result) process.stdout.write(`${JSON.stringify(row)}\n`);
  for (const { code, message } of extra?.warnings ?? []) process.stderr.write(`warning ${code}: ${message}\n`);
}

const print = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
};
