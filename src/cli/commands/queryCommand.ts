import { HttpClient } from '../HttpClient.js';
import { parseBind } from '../parseBind.js';

interface CursorAnswer {
  readonly result: readonly unknown[];
  readonly hasMore: boolean;
  readonly id?: string;
  readonly extra?: unknown;
}

/** `ostraka query 'AQL'`: prints one result a line, or the whole answer with --json. */
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
  const first = await client.request<CursorAnswer>('POST', `${base}/_api/cursor`, body);
  const result = [...first.result];
  for (let page = first; page.hasMore; ) {
    page = await client.request<CursorAnswer>('POST', `${base}/_api/cursor/${page.id}`);
    result.push(...page.result);
  }
  if (options.json) print({ result, extra: first.extra });
  else for (const row of result) process.stdout.write(`${JSON.stringify(row)}\n`);
}

const print = (value: unknown): void => {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
};
