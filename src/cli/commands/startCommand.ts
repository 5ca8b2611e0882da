import { toOstrakaError } from '../../base/index.js';
import { assembleShard } from '../../shard/index.js';
import { loadConfig } from '../loadConfig.js';
import { ModelUses } from '../ModelUses.js';
import { openShardPlatform } from '../openShardPlatform.js';
import type { StartConfig } from '../StartConfig.js';
import type { ShardCommand, ShardMessage } from '../shardMessages.js';

/**
 * `ostraka start --config FILE`: one shard in this process. Under `up` it reports through the channel, ignores the terminal's Ctrl-C and
 * ends when the channel closes; alone it ends on SIGINT or SIGTERM.
 */
export async function startCommand(options: { readonly config: string }): Promise<void> {
  const isChild = process.send !== undefined;
  const stopping = new Promise<void>((resolve) => onStop(isChild, resolve));
  try {
    const config = await loadConfig(options.config);
    if (!isChild) await new ModelUses().claim(modelPaths(config)); // under `up` it is `up` that uses them
    const platform = await openShardPlatform(config);
    const shard = assembleShard(config.shard, platform);
    const started = shard.start();
    const address = await Promise.race([started, stopping]);
    if (address) {
      report({ kind: 'ready', ...address, enginePid: shard.enginePid });
      if (!isChild) process.stderr.write(`${address.shardId} is ready at ${address.httpUrl}\n`);
      await stopping;
    }
    await shard.stop();
    started.catch(() => undefined);
  } catch (thrown) {
    if (!isChild) throw thrown;
    await reportFailure(thrown);
    process.exit(1);
  }
  process.exit(0);
}

const modelPaths = ({ shard }: StartConfig): readonly string[] =>
  [shard.cluster.chatModel, shard.cluster.embeddingModel, ...shard.process.models].map(({ path }) => path);

const onStop = (isChild: boolean, stop: () => void): void => {
  process.on('SIGTERM', stop);
  process.on('SIGINT', () => {
    if (!isChild) stop();
  });
  process.on('disconnect', stop);
  process.on('message', (message) => {
    if ((message as ShardCommand).kind === 'stop') stop();
  });
};

const report = (message: ShardMessage): void => {
  process.send?.(message);
};

const reportFailure = (thrown: unknown): Promise<void> =>
  new Promise((resolve) => {
    const message: ShardMessage = { kind: 'failed', error: toOstrakaError(thrown).toJson() };
    process.send?.(message, () => resolve());
  });
