import { execFileSync } from 'node:child_process';

/** Folder of llama-batched-bench and llama-server on the libraries of this very engine; builds them the first time, which takes minutes. */
export function peerPrograms(): string {
  const printed = execFileSync(process.execPath, ['bench/peers/llama/buildPeers.mjs'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return printed.trim().split('\n').at(-1) as string;
}
