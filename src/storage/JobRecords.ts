import { type JsonValue, utf8 } from '../base/index.js';
import type { OrderedStore } from '../platform/index.js';
import { keyLayout } from './KeyLayout.js';

const prefix = 'job/';
/** After every key that begins with the prefix: '0' follows '/'. */
const prefixEnd = 'job0';

export interface JobRecord {
  readonly id: string;
  readonly record: JsonValue;
}

/** What a shard has promised to do and has not done yet, so that it goes on after a restart. Durable when a call resolves. */
export class JobRecords {
  readonly #store: OrderedStore;

  constructor(parts: { readonly store: OrderedStore }) {
    this.#store = parts.store;
  }

  list(recordsMax: number): readonly JobRecord[] {
    const entries = this.#store.scan({ from: keyLayout.meta(prefix), to: keyLayout.meta(prefixEnd), entriesMax: recordsMax });
    return entries.map(({ key, value }) => ({
      id: keyLayout.nameOf(key).slice(prefix.length),
      record: JSON.parse(utf8.decode(value)) as JsonValue,
    }));
  }

  async put({ id, record }: JobRecord): Promise<void> {
    await this.#store.commit([{ kind: 'put', key: keyLayout.meta(prefix + id), value: utf8.encode(JSON.stringify(record)) }]);
  }

  /** Also on a full disk. */
  async remove(id: string): Promise<void> {
    await this.#store.commit([{ kind: 'delete', key: keyLayout.meta(prefix + id) }], 'reserve');
  }
}
