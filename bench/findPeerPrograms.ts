import { execFileSync } from 'node:child_process';

/** Folder of the peer programs if they were built already (see peerPrograms). Builds nothing. */
export function findPeerPrograms(): string | undefined {
  const printed = execFileSync(process.execPath, ['bench/peers/llama/buildPeers.mjs', '--find'], { encoding: 'utf8' }).trim();
  return printed === '' ? undefined : printed;
}
