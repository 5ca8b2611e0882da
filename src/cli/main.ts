#!/usr/bin/env node
import { Command, InvalidArgumentError } from 'commander';
import { toOstrakaError } from '../base/index.js';
import { parseByteCount } from './parseByteCount.js';
import { productVersion } from './productVersion.js';

const defaultUrl = 'http://127.0.0.1:8529';

const integer =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}.`);
  };

const decimal =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`must be a number from ${min} to ${max}.`);
  };

const byteCount = (text: string): number => {
  const bytes = parseByteCount(text);
  if (bytes === undefined) throw new InvalidArgumentError('must be a count of bytes, such as 4GiB, 1.5GB or 4294967296.');
  return bytes;
};

const textTokens = integer(16, 131_072);

const lengths = (text: string): readonly number[] => text.split(',').map(integer(1, 65_536));

const collect = (text: string, all: readonly string[]): readonly string[] => [...all, text];

/** Commands load their own parts only when they run: `--help` and `query` must not wait for the engine's libraries. */
const buildProgram = async (): Promise<Command> => {
  const program = new Command('ostraka').description('Sharded multi-model database in which every shard also runs LLM inference.');
  program
    .version(await productVersion())
    .showHelpAfterError('(add --help for the options)')
    .exitOverride();

  program
    .command('up')
    .description('start a local cluster; Ctrl-C stops it, the next start finds its data')
    .option('--shards <count>', 'shard processes', integer(1, 64), 3)
    .option('--data <folder>', 'data folder', 'ostraka-data')
    .option('--port <port>', 'HTTP of the first shard; shard i on port+i, RPC on port+100+i', integer(1, 65_000), 8529)
    .option(
      '--model <name|file>',
      'chat model: a name of `model list`, hf:OWNER/NAME[/FILE.gguf][@REVISION] of a hub, or a GGUF file',
      'default',
    )
    .option('--hub <url>', 'base address of the hub of hf: names; otherwise HF_ENDPOINT')
    .option('--embedding-model <name|file>', 'embedding model, or a cross-encoder for RERANK', 'default')
    .option('--embedding-pooling <mean|cls|last>', 'which rows of a text become its vector; otherwise as the model file says')
    .option('--embedding-dimensions <list>', 'lengths that vectors may be cut to (Matryoshka), such as 256,128', lengths)
    .option(
      '--embedding-context <tokens>',
      'longest text to embed, where the model reads so long ones; otherwise 512, and 2048 of a decoder',
      textTokens,
    )
    .option('--serve <[name=]name|file>', 'a further model, by its name, loaded by the first request for it; repeatable', collect, [])
    .option(
      '--memory-budget <bytes>',
      'memory of the engines of one shard together, such as 4GiB; otherwise its share of what is free',
      byteCount,
    )
    .option(
      '--idle-unload <seconds>',
      'a model of --serve that nobody asks for is unloaded; 0 = only for another one',
      integer(0, 31_536_000),
      0,
    )
    .option('--adapter <domain=file>', 'LoRA adapter of a domain; the k-th goes to shard k mod N; repeatable', collect, [])
    .option('--adapter-folder <folder>', 'adapters loaded at run time must lie below it; otherwise any absolute path may be loaded')
    .option('--sequences <count>', 'sequences of an engine', integer(1, 256), 16)
    .option('--context <tokens>', 'tokens a sequence', integer(256, 1_048_576), 2_048)
    .option('--engine <openai:url>', 'a server with the API of OpenAI instead of engines; --model names a model there')
    .option('--api-key-file <file>', 'key of that server')
    .option('--gpu-layers <count>', 'layers of the chat model on a GPU, with llama.cpp’s package for it; untested', integer(0, 512), 0)
    .option('--no-memory-check', 'start engines even where they are estimated to need more memory than is free')
    .option('--accept-empty-store', 'start shards whose data folder was lost; its documents are given up', false)
    .option('--sample', 'load the sample database and its adapters', false)
    .option('--record-frames <folder>', 'diagnosis: keep every frame between shards (they hold documents)')
    .option('--json', 'print events as JSON lines', false)
    .action(async (options) => (await import('./commands/upCommand.js')).upCommand(options));

  program
    .command('start')
    .description('run one shard from a configuration file')
    .requiredOption('--config <file>', 'YAML or JSON file')
    .action(async (options) => (await import('./commands/startCommand.js')).startCommand(options));

  program
    .command('query')
    .description('run an AQL query')
    .argument('<aql>')
    .option(
      '--bind <name=json>',
      'bind parameter; repeatable. A bare word such as x=hello is a string; what looks like another value but is no JSON, such as x=05, is refused: write x=5 or \'x="05"\'',
      collect,
      [],
    )
    .option('--url <url>', 'any shard', defaultUrl)
    .option('--db <name>', 'database', '_system')
    .option('--explain', 'show the plan instead', false)
    .option('--json', 'print the whole answer as JSON', false)
    .action(async (aql, options) => (await import('./commands/queryCommand.js')).queryCommand(aql, options));

  program
    .command('chat')
    .description('talk to the model; one line a question, /help for commands')
    .option('--model <name>', 'a model, or an adapter by its name', 'default')
    .option('--domain <name>', 'who should answer')
    .option('--system <text>', 'system prompt')
    .option('--max-tokens <count>', 'longest answer', integer(1, 1_048_576), 512)
    .option('--url <url>', 'any shard', defaultUrl)
    .action(async (options) => (await import('./commands/chatCommand.js')).chatCommand(options));

  program
    .command('status')
    .description('show the shards, their slots, adapters, loads and breakers')
    .option('--url <url>', 'any shard', defaultUrl)
    .option('--json', 'print JSON', false)
    .action(async (options) => (await import('./commands/statusCommand.js')).statusCommand(options));

  const model = program.command('model').description('model files on this machine');
  model
    .command('list')
    .description('models known by name')
    .option('--json', 'print JSON', false)
    .action(async (options) => (await import('./commands/modelListCommand.js')).modelListCommand(options));
  model
    .command('pull')
    .description('fetch and verify a model, or see that a hub still has the same; without a name both defaults')
    .argument('[name]', 'of `model list`, or hf:OWNER/NAME[/FILE.gguf][@REVISION]')
    .option('--hub <url>', 'base address of the hub; otherwise HF_ENDPOINT')
    .option('--force', 'of a hub: take other bytes than were pulled first', false)
    .option('--json', 'print JSON', false)
    .action(async (name, options) => (await import('./commands/modelPullCommand.js')).modelPullCommand(name, options));

  model
    .command('show')
    .description('what a model file says of itself, its SHA-256, and the memory an engine with it needs')
    .argument('<name|file>')
    .option('--sequences <count>', 'sequences of the engine', integer(1, 256), 16)
    .option('--context <tokens>', 'tokens a sequence', integer(256, 1_048_576), 2_048)
    .option('--embedding-context <tokens>', 'longest text to embed', textTokens)
    .option('--json', 'print JSON', false)
    .action(async (name, options) => (await import('./commands/modelShowCommand.js')).modelShowCommand(name, options));
  model
    .command('verify')
    .description('compare the SHA-256 of the files; exit code 1 when one is damaged')
    .argument('[name]')
    .option('--json', 'print JSON', false)
    .action(async (name, options) => (await import('./commands/modelVerifyCommand.js')).modelVerifyCommand(name, options));
  model
    .command('import')
    .description('check a GGUF file and copy it into the cache, for `up --model NAME`')
    .argument('<file>')
    .requiredOption('--name <name>', 'small letters, digits, ".", "-", "_"')
    .option('--force', 'replace a model of this name', false)
    .option('--json', 'print JSON', false)
    .action(async (file, options) => (await import('./commands/modelImportCommand.js')).modelImportCommand(file, options));
  model
    .command('remove')
    .description('remove the file of a model; refused while a running cluster uses it')
    .argument('<name>')
    .option('--json', 'print JSON', false)
    .action(async (name, options) => (await import('./commands/modelRemoveCommand.js')).modelRemoveCommand(name, options));

  model
    .command('quantize')
    .description('write a model with weights of another type')
    .argument('<file>')
    .requiredOption('--type <type>', 'q8_0, q4_0, q4_1, q4_k_m, q6_k, f16, …; a wrong one lists them all')
    .requiredOption('--out <file>', 'where it goes')
    .option('--force', 'replace a file that is there', false)
    .option('--json', 'print JSON', false)
    .action(async (file, options) => (await import('./commands/modelQuantizeCommand.js')).modelQuantizeCommand(file, options));

  const adapter = program.command('adapter').description('LoRA adapters');
  adapter
    .command('load')
    .description('load an adapter on the shard that is asked, and announce it')
    .requiredOption('--domain <name>', 'its domain')
    .requiredOption('--file <file>', 'GGUF file on the shard’s machine')
    .option('--scale <number>', 'strength', decimal(0, 100), 1)
    .option('--accuracy-delta <number>', 'declared gain, instead of FILE.evaluation.json', decimal(-1, 1))
    .option('--url <url>', 'the shard', defaultUrl)
    .option('--json', 'print JSON', false)
    .action(async (options) => (await import('./commands/adapterLoadCommand.js')).adapterLoadCommand(options));
  adapter
    .command('unload')
    .description('withdraw an adapter from the shard that is asked, wait for its requests, free it')
    .requiredOption('--domain <name>', 'its domain, or its digest or the first 12 digits of it; @scale may stand behind either')
    .option('--url <url>', 'the shard', defaultUrl)
    .action(async (options) => (await import('./commands/adapterUnloadCommand.js')).adapterUnloadCommand(options));
  adapter
    .command('list')
    .description('the adapters of all shards')
    .option('--url <url>', 'any shard', defaultUrl)
    .option('--json', 'print JSON', false)
    .action(async (options) => (await import('./commands/adapterListCommand.js')).adapterListCommand(options));
  adapter
    .command('evaluate')
    .description('measure an adapter on held-out questions')
    .requiredOption('--domain <name>', 'its domain')
    .requiredOption('--data <file>', 'JSON lines {question, answer}')
    .option('--adapter <file>', 'judge this file on an engine of its own instead of the cluster’s adapter')
    .option('--model <name|file>', 'chat model for --adapter', 'default')
    .option('--embedding-model <name|file>', 'embedding model for --adapter', 'default')
    .option('--url <url>', 'any shard', defaultUrl)
    .option('--write', 'with --adapter: store the figures as FILE.evaluation.json', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (options) => (await import('./commands/evaluateCommand.js')).evaluateCommand(options));

  adapter
    .command('train')
    .description('train an adapter on questions and answers; Ctrl-C stores where it was')
    .requiredOption('--domain <name>', 'its domain')
    .requiredOption('--data <file>', 'JSON lines {question, answer}')
    .option('--model <name|file>', 'base model of the llama architecture', 'default')
    .option('--out <file>', 'where it goes; otherwise DOMAIN.gguf here')
    .option('--rank <count>', 'columns of its matrices', integer(1, 256), 8)
    .option('--alpha <number>', 'it is applied with alpha / rank; otherwise twice the rank', decimal(0.001, 4_096))
    .option('--epochs <count>', 'times through the data; otherwise 6', integer(1, 10_000))
    .option('--steps <count>', 'updates, instead of --epochs', integer(1, 1_000_000))
    .option('--learning-rate <number>', 'highest rate', decimal(1e-9, 1), 2e-3)
    .option('--batch <count>', 'examples of a step', integer(1, 1_024), 8)
    .option('--context <tokens>', 'an example with more is refused; otherwise 512, or what the model was trained on', integer(16, 8_192))
    .option('--seed <number>', 'the same seed, settings and machine give the same file', integer(0, 2 ** 32 - 1), 1)
    .option('--threads <count>', 'threads that compute', integer(1, 256), 1)
    .option('--checkpoint-seconds <count>', 'how often the state is stored', integer(0, 86_400), 30)
    .option('--resume', 'go on from the checkpoint of a run with the same settings', false)
    .option('--json', 'print events as JSON lines', false)
    .action(async (options) => (await import('./commands/adapterTrainCommand.js')).adapterTrainCommand(options));
  adapter
    .command('import')
    .description('make an adapter of a PEFT folder (adapter_config.json and safetensors)')
    .argument('<folder|file.safetensors>')
    .requiredOption('--domain <name>', 'its domain')
    .option('--model <name|file>', 'base model that it was trained for', 'default')
    .option('--out <file>', 'where it goes; otherwise DOMAIN.gguf here')
    .option('--json', 'print one line of JSON', false)
    .action(async (source, options) => (await import('./commands/adapterImportCommand.js')).adapterImportCommand(source, options));

  program
    .command('doctor')
    .description('say what is wrong with this machine or its data folder, and what to do')
    .option('--data <folder>', 'data folder', 'ostraka-data')
    .option('--port <port>', 'HTTP port of the first shard', integer(1, 65_000), 8529)
    .option('--shards <count>', 'shard processes', integer(1, 64), 3)
    .option('--model <name|file>', 'chat model, as of `up`', 'default')
    .option('--embedding-model <name|file>', 'embedding model, as of `up`', 'default')
    .option('--serve <[name=]name|file>', 'a further model, as of `up`; repeatable', collect, [])
    .option('--sequences <count>', 'sequences of an engine', integer(1, 256), 16)
    .option('--context <tokens>', 'tokens a sequence', integer(256, 1_048_576), 2_048)
    .option('--embedding-context <tokens>', 'longest text to embed', textTokens)
    .option('--json', 'print JSON', false)
    .action(async (options) => (await import('./commands/doctorCommand.js')).doctorCommand(options));

  program
    .command('sim')
    .description('run the whole cluster in one process under virtual time and seeded faults')
    .requiredOption('--seed <number>', 'the same seed is the same run', integer(0, 2 ** 32 - 1))
    .option('--minutes <count>', 'virtual minutes', integer(1, 24 * 60), 1)
    .option('--bug <name>', `plant a fault that the checkers must find${await bugNames()}`)
    .option('--json', 'print one line of JSON', false)
    .action(async (options) => (await import('./commands/simCommand.js')).simCommand(options));

  return program;
};

/** The simulator knows the names; only its own command may wait for it. */
const bugNames = async (): Promise<string> => {
  if (process.argv[2] !== 'sim') return '';
  const { plantedBugs } = await import('../../sim/index.js');
  return `: ${Object.keys(plantedBugs).join(', ')}`;
};

const isCommanderExit = (error: unknown): error is { readonly code: string; readonly exitCode: number } =>
  typeof error === 'object' && error !== null && String((error as { code?: unknown }).code).startsWith('commander.');

try {
  const program = await buildProgram();
  await program.parseAsync();
} catch (thrown) {
  if (isCommanderExit(thrown)) process.exit(thrown.exitCode);
  const error = toOstrakaError(thrown);
  process.stderr.write(`ostraka: ${error.message} [${error.code}]\n`);
  if (error.code === 'INTERNAL' && error.cause instanceof Error) process.stderr.write(`${error.cause.stack}\n`);
  process.exit(1);
}
