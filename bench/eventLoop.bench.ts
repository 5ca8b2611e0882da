// Claim (R19): the event loop of a shard is never held up by inference: its delay stays below 10 ms (99th percentile) while the engine works at
// full load. One shard as `up` starts it, 16 streamed chats at a time over HTTP for a while; the delay is the shard's own metric.
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';
import { type BenchShard, openBenchShard } from './openBenchShard.js';

const targetMs = 10;
const clients = 16;
/** What the sampling timer waits between two looks counts into each sample. */
const samplingMs = 10;

export async function eventLoopBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, chats } = options.quick ? { runs: 1, chats: 2 } : { runs: 5, chats: 4 };
  const shard = await openBenchShard();
  const delays: number[] = [];
  try {
    for (let run = 0; run < runs; run++) {
      await delayMs(shard); // a look begins the next span
      await Promise.all(Array.from({ length: clients }, (_, client) => chatInTurn(shard, client, chats)));
      delays.push(await delayMs(shard));
    }
  } finally {
    await shard.close();
  }
  return [
    measured({
      name: `event loop of a shard under ${clients} streamed chats`,
      metric: 'delay, p99',
      unit: 'ms',
      values: delays,
      against: `target ${targetMs} ms`,
      ratioOf: (median) => targetMs / Math.max(median, 0.01),
    }),
  ];
}

async function delayMs({ url }: BenchShard): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const seconds = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]);
  return Math.max(0, seconds * 1000 - samplingMs);
}

async function chatInTurn({ url }: BenchShard, client: number, chats: number): Promise<void> {
  for (let chat = 0; chat < chats; chat++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'default',
        stream: true,
        max_tokens: 64,
        ignore_eos: true,
        messages: [{ role: 'user', content: `Client ${client}, chat ${chat}: tell a long story about a harbour.` }],
      }),
    });
    if (!response.ok || !(await response.text()).includes('[DONE]')) throw new Error(`a chat failed: ${response.status}`);
  }
}
