import { cliError } from '../errors.js';
import { HttpClient } from '../HttpClient.js';

interface CursorAnswer {
  readonly result: readonly unknown[];
  readonly hasMore: boolean;
  readonly id?: string;
  readonly extra?: unknown;
}

const parseBind = (text: string): [string, unknown] => {
  const at = text.indexOf('=');
  if (at < 1) throw cliError('USAGE', `--bind ${text}: give name=json`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value]; // a bare word is a string: nobody wants to quote twice in a shell
  }
};

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
