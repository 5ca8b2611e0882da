import { onAbort } from '../../base/index.js';

/**
 * Tells the user of a terminal that Ctrl-C was heard, and that everything has ended: shards may take seconds to answer what they have begun.
 * Programs learn it from the end of the process.
 */
export function announceStop(parts: { readonly stopping: AbortSignal; readonly isJson: boolean; readonly write: (line: string) => void }): {
  stopped(): void;
} {
  const { stopping, isJson, write } = parts;
  if (isJson) return { stopped: () => undefined };
  onAbort(stopping, () => write('stopping…'));
  return {
    // What ends for another reason says that reason.
    stopped: () => {
      if (stopping.aborted) write('stopped');
    },
  };
}
