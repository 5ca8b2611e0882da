import type { IncomingMessage } from 'node:http';

/**
 * Reads what a client still sends and forgets it, until its end, `bytesMax` or `timeMs`. A connection that is closed with unread bytes
 * is reset, and a reset takes from the client the answer that it has not read yet (RFC 9112 §9.6). Never throws.
 */
export function discardRequest(
  request: IncomingMessage,
  { bytesMax, timeMs }: { readonly bytesMax: number; readonly timeMs: number },
): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', end).off('close', end);
      request.pause();
      resolve();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bytesMax) end();
    };
    const timer = setTimeout(end, timeMs);
    request.on('data', onData).once('end', end).once('close', end);
    request.resume();
  });
}
