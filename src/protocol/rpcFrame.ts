import { type JsonValue, OstrakaError, type OstrakaErrorJson, utf8 } from '../base/index.js';

/**
 * One frame of an answer between shards. Byte 0 is the kind, the rest its payload: 1 JSON value, 2 bytes, 3 end (JSON with the
 * answering shard's clock), 4 error (JSON). An answer is any number of 1 and 2, then exactly one 3 or 4: one without is cut off.
 */
export type RpcFrame =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly timestamp: number }
  | { readonly kind: 'error'; readonly error: OstrakaErrorJson; readonly timestamp: number };

const tags = { json: 1, bytes: 2, end: 3, error: 4 } as const;

const tagged = (tag: number, payload: Uint8Array): Uint8Array => {
  const frame = new Uint8Array(payload.length + 1);
  frame[0] = tag;
  frame.set(payload, 1);
  return frame;
};

const encodeJson = (value: unknown): Uint8Array => utf8.encode(JSON.stringify(value));

const protocolViolation = (what: string): OstrakaError =>
  new OstrakaError({
    code: 'PROTOCOL_VIOLATION',
    message: `a peer sent ${what}`,
    httpStatus: 502,
    errorNum: 0,
    retryable: false,
    data: {},
  });

const parse = (payload: Uint8Array): unknown => {
  try {
    return JSON.parse(utf8.decode(payload));
  } catch (error) {
    throw Object.assign(protocolViolation('a frame that is not JSON'), { cause: error });
  }
};

const isTimestamp = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isErrorJson = (value: unknown): value is OstrakaErrorJson => {
  const { code, message, httpStatus, errorNum, retryable, data } = (value ?? {}) as { readonly [name: string]: unknown };
  return (
    [code, message].every((text) => typeof text === 'string') &&
    [httpStatus, errorNum].every((number) => typeof number === 'number') &&
    typeof retryable === 'boolean' &&
    typeof data === 'object' &&
    data !== null
  );
};

export const rpcFrame = {
  encode(frame: RpcFrame): Uint8Array {
    if (frame.kind === 'json') return tagged(tags.json, encodeJson(frame.value));
    if (frame.kind === 'bytes') return tagged(tags.bytes, frame.bytes);
    if (frame.kind === 'end') return tagged(tags.end, encodeJson({ timestamp: frame.timestamp }));
    return tagged(tags.error, encodeJson({ error: frame.error, timestamp: frame.timestamp }));
  },
  /** Throws PROTOCOL_VIOLATION on an unknown kind, an empty frame, or JSON of another form. */
  decode(bytes: Uint8Array): RpcFrame {
    const payload = bytes.subarray(1);
    if (bytes[0] === tags.json) return { kind: 'json', value: parse(payload) as JsonValue };
    if (bytes[0] === tags.bytes) return { kind: 'bytes', bytes: payload };
    if (bytes[0] !== tags.end && bytes[0] !== tags.error) throw protocolViolation('a frame of an unknown kind');
    const fields = (parse(payload) ?? {}) as { readonly timestamp?: unknown; readonly error?: unknown };
    // One that is out of range would carry every clock of the cluster away.
    if (!isTimestamp(fields.timestamp)) throw protocolViolation('an end without a timestamp');
    if (bytes[0] === tags.end) return { kind: 'end', timestamp: fields.timestamp };
    if (!isErrorJson(fields.error)) throw protocolViolation('an error of another form');
    return { kind: 'error', error: fields.error, timestamp: fields.timestamp };
  },
};
