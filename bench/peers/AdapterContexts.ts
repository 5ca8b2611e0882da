import { assert } from '../../src/base/index.js';
import { type LlamaApi, openLlamaApi, type Pointer } from '../../src/platform/node/llama/LlamaApi.js';
import { NativeBatch } from '../../src/platform/node/llama/NativeBatch.js';

const batchRows = 256;
const contextTokens = 512;
/** Any text does: what a step costs does not depend on it. */
const tokenOf = (position: number): number => 1000 + ((position * 13) % 40_000);

/** A group of requests with one adapter, or none, and the sequence ids that it has in its context. */
export interface Group {
  readonly context: number;
  readonly hasAdapter: boolean;
  readonly sequences: readonly number[];
}

/** One model with some contexts of its own each, and groups of sequences that decode in turns: what steps cost, and nothing else. */
export class AdapterContexts {
  readonly #api: LlamaApi;
  readonly #model: Pointer;
  readonly #adapter: Pointer;
  readonly #contexts: readonly { readonly context: Pointer; readonly memory: Pointer }[];
  readonly #batch: NativeBatch;
  readonly #active: boolean[];

  constructor(options: { readonly modelPath: string; readonly adapterPath: string; readonly sequences: readonly number[] }) {
    const api = openLlamaApi();
    this.#api = api;
    this.#model = expectPointer(api.loadModel(options.modelPath, { ...api.modelDefaults(), n_gpu_layers: 0 }));
    this.#adapter = expectPointer(api.adapterInit(this.#model, options.adapterPath));
    this.#contexts = options.sequences.map((sequences) => {
      const context = expectPointer(api.newContext(this.#model, { ...api.contextDefaults(), ...parametersOf(sequences) }));
      return { context, memory: expectPointer(api.memory(context)) };
    });
    this.#batch = new NativeBatch(api, batchRows);
    this.#active = options.sequences.map(() => false);
  }

  /** Gives every sequence of the groups a prompt of so many tokens. */
  prefill(groups: readonly Group[], tokens: number): void {
    for (const group of groups) {
      this.#use(group);
      for (const sequence of group.sequences) {
        const rows = Array.from({ length: tokens }, (_, position) => ({ position, sequence, wantLogits: false }));
        this.#decode(group, rows);
      }
    }
  }

  /** Decodes `steps` steps of each group from position `from` on, in turns of `turnSteps`. */
  decode(groups: readonly Group[], run: { readonly from: number; readonly steps: number; readonly turnSteps: number }): void {
    for (let done = 0; done < run.steps; done += run.turnSteps)
      for (const group of groups) {
        this.#use(group);
        for (let step = done; step < Math.min(run.steps, done + run.turnSteps); step++) this.#step(group, run.from + step);
      }
  }

  /** As the engine does: rows of an adapter one by one, since several come out with other bits than one. */
  #step(group: Group, position: number): void {
    const rows = group.sequences.map((sequence) => ({ position, sequence, wantLogits: true }));
    if (group.hasAdapter) for (const row of rows) this.#decode(group, [row]);
    else this.#decode(group, rows);
  }

  clear(groups: readonly Group[]): void {
    for (const { context, sequences } of groups)
      for (const sequence of sequences) this.#api.removeFromSequence(this.#at(context).memory, sequence, -1, -1);
  }

  close(): void {
    this.#batch.free();
    for (const { context } of this.#contexts) this.#api.freeContext(context);
    this.#api.adapterFree(this.#adapter);
    this.#api.freeModel(this.#model);
  }

  #use({ context, hasAdapter }: Group): void {
    if (this.#active[context] === hasAdapter) return;
    const { context: pointer } = this.#at(context);
    const result = hasAdapter
      ? this.#api.setAdapters(pointer, BigUint64Array.of(this.#adapter), 1, Float32Array.of(1))
      : this.#api.setAdapters(pointer, null, 0, null);
    assert(result === 0, 'the adapter is switched');
    this.#active[context] = hasAdapter;
  }

  #decode(
    { context }: Group,
    rows: readonly { readonly position: number; readonly sequence: number; readonly wantLogits: boolean }[],
  ): void {
    this.#batch.clear();
    for (const row of rows) this.#batch.add({ ...row, token: tokenOf(row.position) });
    assert(this.#batch.decode(this.#at(context).context) === 0, 'the library decodes');
    // Reading them waits for the computation, as an engine does.
    if (rows[0]?.wantLogits) expectPointer(this.#api.logitsOfRow(this.#at(context).context, 0));
  }

  #at(context: number): { readonly context: Pointer; readonly memory: Pointer } {
    const found = this.#contexts[context];
    assert(found !== undefined, 'a group names a context that is open');
    return found;
  }
}

/** As the engine opens its context. */
const parametersOf = (sequences: number) => ({
  n_ctx: sequences * contextTokens,
  n_batch: batchRows,
  n_ubatch: batchRows,
  n_seq_max: sequences,
  n_outputs_max: sequences,
  n_threads: 1,
  n_threads_batch: 1,
  kv_unified: false,
});

function expectPointer(pointer: Pointer | null): Pointer {
  assert(pointer !== null, 'the library gives what is asked for');
  return pointer;
}
