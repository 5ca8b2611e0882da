import { onAbort } from '../../src/base/index.js';
import type { MetadataChange, MetadataEntry, MetadataStore } from '../../src/platform/index.js';
import { platformError } from '../../src/platform/index.js';
import type { SimProcess } from '../world/SimProcess.js';
import type { SimRandom } from '../world/SimRandom.js';
import type { SimWorld } from '../world/SimWorld.js';
import type { SimMetadataServer } from './SimMetadataServer.js';

/** Faults of the way to the metadata; a share of calls each. */
export interface MetadataFaults {
  /** The call does not get there. */
  refusedShare: number;
  /** The call takes effect and its answer is lost. */
  answerLostShare: number;
}

const tripMs = { min: 0.1, max: 1.5 } as const;

/** One process's way to the metadata server: a little delay, and METADATA_UNAVAILABLE where the faults say so. */
export class SimMetadataStore implements MetadataStore {
  readonly #world: SimWorld;
  readonly #process: SimProcess;
  readonly #random: SimRandom;
  readonly #server: SimMetadataServer;
  readonly #faults: MetadataFaults;
  #isClosed = false;

  constructor(parts: {
    readonly world: SimWorld;
    readonly process: SimProcess;
    readonly random: SimRandom;
    readonly server: SimMetadataServer;
    readonly faults: MetadataFaults;
  }) {
    this.#world = parts.world;
    this.#process = parts.process;
    this.#random = parts.random;
    this.#server = parts.server;
    this.#faults = parts.faults;
  }

  read(key: string): Promise<MetadataEntry | undefined> {
    return this.#ask(`read ${key}`, () => this.#server.read(key));
  }

  list(prefix: string): Promise<readonly MetadataEntry[]> {
    return this.#ask(`list ${prefix}`, () => this.#server.list(prefix));
  }

  transact(request: Parameters<MetadataStore['transact']>[0]): Promise<{ readonly committed: boolean; readonly revision: number }> {
    return this.#ask(`transact ${request.operations.map(({ key }) => key).join(' ')}`, () => this.#server.transact(request));
  }

  grantLease(ttlMs: number): Promise<string> {
    return this.#ask('grant', () => this.#server.grantLease(ttlMs));
  }

  renewLease(leaseId: string): Promise<boolean> {
    return this.#ask(`renew ${leaseId}`, () => this.#server.renewLease(leaseId));
  }

  revokeLease(leaseId: string): Promise<void> {
    return this.#ask(`revoke ${leaseId}`, () => this.#server.revokeLease(leaseId));
  }

  revision(): Promise<number> {
    return this.#ask('revision', () => this.#server.revision);
  }

  async *watch(prefix: string, fromRevision: number, signal: AbortSignal): AsyncGenerator<MetadataChange, void, void> {
    let seen = fromRevision;
    while (!signal.aborted && !this.#isClosed) {
      const changes = this.#server.changesAfter(seen);
      for (const change of changes) if (change.key.startsWith(prefix)) yield change;
      seen = changes.at(-1)?.revision ?? seen;
      if (this.#server.changesAfter(seen).length === 0) await this.#nextChange(signal);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async #ask<Value>(what: string, work: () => Value): Promise<Value> {
    if (this.#isClosed) throw platformError('METADATA_UNAVAILABLE', 'the metadata store is closed');
    await this.#trip();
    const isRefused = this.#random.chance(this.#faults.refusedShare);
    if (isRefused) throw this.#unavailable(`${what} refused`);
    this.#world.note(`metadata ${this.#process.name} ${what}`);
    const value = work();
    await this.#trip();
    if (this.#random.chance(this.#faults.answerLostShare)) throw this.#unavailable(`${what} answer lost`);
    return value;
  }

  #unavailable(what: string): Error {
    this.#world.note(`metadata ${this.#process.name} ${what}`);
    return platformError('METADATA_UNAVAILABLE', 'the metadata store did not answer; the outcome of a change is unknown');
  }

  #trip(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.schedule({ delayMs: this.#random.between(tripMs.min, tripMs.max), owner: this.#process, run: resolve });
    });
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        stop();
        forget();
        this.#world.schedule({ delayMs: this.#random.between(tripMs.min, tripMs.max), owner: this.#process, run: resolve });
      };
      const stop = this.#server.onChange(wake);
      const forget = onAbort(signal, wake);
    });
  }
}
