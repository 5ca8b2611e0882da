// What core may use of its host beyond ES2023. Core is compiled without the DOM or Node libraries, so a timer,
// a clock or `process` in core is a type error and not a review comment.
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
declare const AbortSignal: { any(signals: readonly AbortSignal[]): AbortSignal; abort(reason?: unknown): AbortSignal };
declare class TextEncoder {
  encode(text: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}
declare function structuredClone<T>(value: T): T;
