import type { JsonValue } from '../../src/base/index.js';
import { checkRegister, type RegisterOperation } from '../checkers/checkRegister.js';
import type { ClientAnswer } from './ClientAnswer.js';
import { effectOf } from './effectOf.js';
import type { ClientRequest, SimClient } from './SimClient.js';
import type { Workload } from './Workload.js';

const collection = 'registers';
const keyCount = 6;
const stepsMax = 200_000;
/** Share of steps that ask for several operations on the key at once. */
const burstShare = 0.25;
const burstMax = 3;

type Kind = RegisterOperation['kind'];

const kinds: readonly Kind[] = ['read', 'read', 'read', 'put', 'put', 'insert', 'update', 'remove'];

/** Single documents as registers: each key's history must be linearizable, whatever shard is asked. */
export class RegisterWorkload implements Workload {
  readonly weight = 5;
  readonly #histories = new Map<string, RegisterOperation[]>();
  #values = 0;

  async setUp(client: SimClient): Promise<void> {
    await client.ask(client.anyShard(), { method: 'POST', path: '/_api/collection', body: { name: collection } });
    for (let i = 0; i < keyCount; i++) this.#histories.set(`key-${i}`, []);
  }

  async step(client: SimClient): Promise<void> {
    const key = client.random.pick([...this.#histories.keys()]);
    const together = client.random.chance(burstShare) ? 2 + client.random.below(burstMax - 1) : 1;
    await Promise.all(Array.from({ length: together }, () => this.#run(client, key, client.random.pick(kinds))));
  }

  async verify(client: SimClient): Promise<void> {
    for (const [key, history] of this.#histories) {
      for (const kind of ['read', 'put', 'read'] as const) {
        const operation = await this.#run(client, key, kind);
        if (operation?.outcome !== 'done') client.violate('liveness', `${kind} of ${key} fails after all is healed`);
      }
      const verdict = checkRegister(history, { stepsMax });
      client.cluster.world.note(`checker register ${key} ${history.length} ${verdict.kind}`);
      if (verdict.kind !== 'violation') continue;
      client.violate('register', `the history of ${key} has no order; stuck at ${JSON.stringify(verdict.at)}`);
    }
  }

  async #run(client: SimClient, key: string, kind: Kind): Promise<RegisterOperation | undefined> {
    const value = kind === 'read' || kind === 'remove' ? null : `v${++this.#values}`;
    const invokedMs = client.nowMs;
    const answer = await client.ask(client.anyShard(), requestOf(kind, key, value));
    const outcome = outcomeOf(kind, answer);
    if (outcome === undefined) return undefined;
    const seen = kind === 'read' && answer.kind === 'answer' && answer.status === 200 ? shownValue(answer.body) : null;
    const returnedMs = outcome === 'unknown' ? Number.POSITIVE_INFINITY : client.nowMs;
    const operation: RegisterOperation = { kind, value, outcome, seen, invokedMs, returnedMs };
    this.#histories.get(key)?.push(operation);
    return operation;
  }
}

const requestOf = (kind: Kind, key: string, value: string | null): ClientRequest => {
  const all = `/_api/document/${collection}`;
  if (kind === 'read') return { method: 'GET', path: `${all}/${key}` };
  if (kind === 'remove') return { method: 'DELETE', path: `${all}/${key}` };
  if (kind === 'update') return { method: 'PATCH', path: `${all}/${key}`, body: { value } };
  const body = { _key: key, value };
  return kind === 'insert' ? { method: 'POST', path: all, body } : { method: 'POST', path: all, query: { overwriteMode: 'replace' }, body };
};

/** Undefined: it certainly did nothing and says nothing of the state. */
const outcomeOf = (kind: Kind, answer: ClientAnswer): RegisterOperation['outcome'] | undefined => {
  const code = answer.kind === 'answer' ? answer.code : undefined;
  if (code === 'DOCUMENT_NOT_FOUND') return kind === 'read' ? 'done' : 'refused';
  if (code === 'UNIQUE_CONSTRAINT_VIOLATED') return 'refused';
  const effect = effectOf(answer);
  return effect === 'none' ? undefined : effect;
};

const shownValue = (body: JsonValue): string => String((body as { readonly value?: JsonValue }).value);
