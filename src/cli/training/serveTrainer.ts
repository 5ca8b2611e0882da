import { readFile, rm } from 'node:fs/promises';
import { assert, sha256Hex, toOstrakaError } from '../../base/index.js';
import { GgmlTrainingBackend, LlamaVocabulary, NodeClock, readBaseFingerprint, writeFileAtomic } from '../../platform/node/engine.js';
import { type CheckpointFile, encodeAdapter, encodeExamples, IncrementalLoRATrainer } from '../../training/index.js';
import type { TrainerCommand, TrainerConfig, TrainerEnd, TrainerMessage } from './trainerMessages.js';

/** Attention's four: what the sample's adapters and most others change. */
const targets = ['attn_q', 'attn_k', 'attn_v', 'attn_output'] as const;
const adapterMode = 0o644;
/** A child whose parent is gone stores its state, but does not outlive it by more than this. */
const orphanMsMax = 5_000;

/**
 * The child's end of the channel. A stop does not wait for the step that is being computed on the library's thread: the state before it
 * is stored, and the process ends. It ignores SIGINT, which a terminal sends to the whole group: the parent says when to stop.
 */
export function serveTrainer(): void {
  assert(process.send !== undefined, 'the trainer runs as a child with an IPC channel');
  const stopping = new AbortController();
  process.on('SIGINT', () => undefined);
  process.on('disconnect', () => {
    stopping.abort();
    setTimeout(endNow, orphanMsMax);
  });
  process.on('message', (message: TrainerCommand) => {
    if (message.kind === 'stop') stopping.abort();
    else
      work(message.config, stopping.signal).then(endWith, (thrown: unknown) =>
        endWith({ kind: 'failed', error: toOstrakaError(thrown).toJson() }),
      );
  });
}

const send = (message: TrainerMessage, onSent?: () => void): void => {
  if (process.connected) process.send?.(message, () => onSent?.());
  else onSent?.();
};

/** By the hard way: an orderly exit would wait for the thread that still computes. */
const endNow = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

const endWith = (end: Extract<TrainerMessage, { kind: 'finished' | 'stopped' | 'failed' }>): void => send(end, endNow);

async function work(config: TrainerConfig, signal: AbortSignal): Promise<TrainerEnd> {
  const { run, model, threads } = config;
  const { rank, alpha } = run.options;
  const sequences = encode(config);
  const backend = await GgmlTrainingBackend.open({ model, targets, rank, alpha, threads });
  const checkpoints = checkpointFile(config.checkpointFile);
  const trainer = new IncrementalLoRATrainer({ backend, clock: new NodeClock(), checkpoints, run, sequences, options: config.trainer });
  if (config.resume) await trainer.resume();
  const tokens = sequences.reduce((total, sequence) => total + sequence.tokens.length, 0);
  send({ kind: 'started', stepsDone: trainer.stepsDone, tokens });
  const outcome = await trainer.train(signal, (progress) => send({ kind: 'progress', progress }));
  if (outcome === 'stopped') return { kind: 'stopped', stepsDone: trainer.stepsDone };
  const { domain, baseDigest } = run;
  const base = { baseDigest, baseFingerprint: readBaseFingerprint(model.path) };
  const bytes = encodeAdapter({ domain, ...base, rank, alpha, tensors: backend.tensors, run });
  await writeFileAtomic(config.outFile, bytes, { mode: adapterMode });
  await rm(config.checkpointFile, { force: true });
  return { kind: 'finished', digest: sha256Hex(bytes), bytes: bytes.length };
}

const encode = ({ model, examples, run, dataName }: TrainerConfig) => {
  const vocabulary = LlamaVocabulary.open(model);
  try {
    const { contextTokens } = run.options;
    return encodeExamples(examples, { vocabulary, clock: new NodeClock(), contextTokens, fileName: dataName });
  } finally {
    vocabulary.close();
  }
};

const checkpointFile = (path: string): CheckpointFile => ({
  read: () =>
    readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    }),
  write: (bytes) => writeFileAtomic(path, bytes),
});
