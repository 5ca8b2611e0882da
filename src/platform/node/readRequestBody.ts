import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** A body of which nothing arrives for so long is given up, ms. */
  readonly bodyIdleMs: number;
}

export type BodyRead =
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'refused'; readonly status: 408 | 413; readonly reason: string }
  /** The client went away. */
  | { readonly kind: 'gone' };

/** Reads a body whole, within its limits. A declared length over the limit is refused before anything is read. Never throws. */
export function readRequestBody(request: IncomingMessage, { bodyBytesMax, bodyIdleMs }: BodyLimits): Promise<BodyRead> {
  const tooLarge = { kind: 'refused', status: 413, reason: `at most ${bodyBytesMax} bytes are taken` } as const;
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return Promise.resolve(tooLarge);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const idle = setTimeout(
      () => end({ kind: 'refused', status: 408, reason: `the rest of the body did not come within ${bodyIdleMs} ms` }),
      bodyIdleMs,
    );
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      idle.refresh();
      if (bytes > bodyBytesMax) end(tooLarge);
      else chunks.push(chunk);
    };
    const onEnd = (): void => end({ kind: 'whole', body: Buffer.concat(chunks) });
    const onGone = (): void => end({ kind: 'gone' });
    const end = (outcome: BodyRead): void => {
      clearTimeout(idle);
      request.off('data', onData).off('end', onEnd).off('close', onGone);
      request.pause();
      resolve(outcome);
    };
    // An error without a listener ends the process; `close` follows it.
    request.on('error', () => undefined);
    request.on('data', onData).once('end', onEnd).once('close', onGone);
  });
}
