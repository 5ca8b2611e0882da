interface Watched {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

// Keyed by the signal and nothing else: what nobody can abort any more is forgotten with it.
const watched = new WeakMap<AbortSignal, Watched>();

/**
 * Calls back once when `signal` aborts, at once when it has; the returned function takes the callback back and must be called when the
 * work ends. However many wait on one signal, it carries one listener: a shard's stop signal, which hundreds of calls share, neither
 * grows nor warns of a leak. Callbacks run in the order they were given and must not throw.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => undefined;
  }
  const { callbacks, listener } = watched.get(signal) ?? watch(signal);
  const once = (): void => callback(); // the same function given twice is two callbacks
  callbacks.add(once);
  return () => {
    if (!callbacks.delete(once) || callbacks.size > 0) return;
    watched.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}

const watch = (signal: AbortSignal): Watched => {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    watched.delete(signal);
    for (const callback of callbacks) {
      callbacks.delete(callback);
      callback();
    }
  };
  const entry = { callbacks, listener };
  watched.set(signal, entry);
  signal.addEventListener('abort', listener, { once: true });
  return entry;
};
