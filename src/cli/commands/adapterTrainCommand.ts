import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeModelFile } from '../../platform/node/index.js';
import { type TrainingProgress, type TrainingRun, trainerOptions } from '../../training/index.js';
import { resolveModel } from '../resolveModel.js';
import { checkCheckpoint } from '../training/checkCheckpoint.js';
import { chooseOutFile } from '../training/chooseOutFile.js';
import { chooseSettings, type SettingFlags } from '../training/chooseSettings.js';
import { readTrainingData } from '../training/readTrainingData.js';
import { TrainerProcess } from '../training/TrainerProcess.js';
import { TrainingBar } from '../training/TrainingBar.js';
import type { TrainerEnd } from '../training/trainerMessages.js';

export interface TrainFlags extends SettingFlags {
  readonly domain: string;
  readonly data: string;
  readonly model: string;
  readonly out?: string;
  readonly threads: number;
  readonly checkpointSeconds: number;
  readonly resume: boolean;
  readonly json: boolean;
}

// Five seconds from Ctrl-C to the end (R29), of which the rest is for the processes to go.
const stopMsMax = 4_000;
const stoppedExitCode = 130;

/** `ostraka adapter train`: a LoRA adapter of a domain from questions and answers, in a child process; Ctrl-C stores where it was. */
export async function adapterTrainCommand(flags: TrainFlags): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  const trainer = trainerOptions.parse({ checkpointIntervalMs: flags.checkpointSeconds * 1000 });
  const outFile = await chooseOutFile(flags);
  const checkpointFile = `${outFile}.checkpoint`;
  checkCheckpoint(checkpointFile, flags.resume);
  const { examples, digest: dataDigest } = await readTrainingData(flags.data, trainer);
  const model = await resolveModel({ nameOrFile: flags.model, kind: 'chat', signal: stopping.signal });
  const { contextTokens: contextTokensOfModel } = describeModelFile(model.path).shape;
  const options = chooseSettings(flags, { examples: examples.length, contextTokensOfModel });
  const run: TrainingRun = { domain: flags.domain, baseDigest: model.digest, dataDigest, examples: examples.length, options };
  const reporter = flags.json ? jsonReporter() : textReporter(flags.domain);
  const child = new TrainerProcess({
    mainPath: fileURLToPath(new URL('../training/main.js', import.meta.url)),
    stopMsMax,
    onStarted: (started) => reporter.started({ ...started, run, checkpointFile }),
    onProgress: reporter.progress,
  });
  const { data: dataName, resume, threads } = flags;
  const config = { model, run, examples, dataName, outFile, checkpointFile, resume, threads, trainer };
  const end = await child.run(config, stopping.signal).finally(() => reporter.close());
  reporter.end(end, { outFile, checkpointFile, run });
  if (end.kind === 'stopped') process.exitCode = stoppedExitCode;
}

interface Started {
  readonly pid: number;
  readonly stepsDone: number;
  readonly tokens: number;
  readonly run: TrainingRun;
  readonly checkpointFile: string;
}

interface Place {
  readonly outFile: string;
  readonly checkpointFile: string;
  readonly run: TrainingRun;
}

interface Reporter {
  started(started: Started): void;
  progress(progress: TrainingProgress): void;
  close(): void;
  end(end: TrainerEnd, place: Place): void;
}

/** For programs: a line of JSON an event. */
const jsonReporter = (): Reporter => {
  const write = (event: string, fields: object): void => {
    process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
  };
  return {
    started: ({ run, ...started }) => write('started', { ...started, ...run }),
    progress: (progress) => write('step', progress),
    close: () => undefined,
    end: ({ kind, ...end }, { outFile, checkpointFile, run }) =>
      write(kind, { domain: run.domain, ...end, ...(kind === 'finished' ? { file: outFile } : { checkpoint: checkpointFile }) }),
  };
};

/** For people: progress on standard error, the result on standard output. */
const textReporter = (domain: string): Reporter => {
  const bar = new TrainingBar({ label: `training ${domain}` });
  let last: TrainingProgress | undefined;
  return {
    started: ({ run, stepsDone, tokens }) => {
      const from = stepsDone === 0 ? '' : `, going on after step ${stepsDone}`;
      process.stderr.write(`training ${domain}: ${run.examples} examples, ${tokens} tokens, ${run.options.steps} steps${from}\n`);
    },
    progress: (progress) => {
      last = progress;
      bar.update(progress);
    },
    close: () => bar.end(),
    end: (end, place) => {
      process.stdout.write(`${end.kind === 'finished' ? finishedText(end, place, last) : stoppedText(end, place)}\n`);
    },
  };
};

const finishedText = (
  { digest, bytes }: Extract<TrainerEnd, { kind: 'finished' }>,
  { outFile, run }: Place,
  last: TrainingProgress | undefined,
): string => {
  const loss = last === undefined ? '' : `, loss ${last.loss.toFixed(4)}`;
  return `${outFile}: adapter ${digest.slice(0, 12)} of domain ${run.domain}, ${(bytes / 1e6).toFixed(1)} MB, ${run.options.steps} steps${loss}`;
};

const stoppedText = ({ stepsDone }: Extract<TrainerEnd, { kind: 'stopped' }>, { checkpointFile }: Place): string =>
  `stopped after step ${stepsDone}; ${existsSync(checkpointFile) ? `go on with --resume (${checkpointFile})` : 'nothing was stored yet'}`;
