import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JsonValue, OstrakaError, utf8 } from '../base/index.js';
import { type RpcFrame, rpcFrame } from './rpcFrame.js';

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
const timestamp = fc.nat();
const error = fc.record({
  code: fc.string({ minLength: 1 }),
  message: fc.string(),
  httpStatus: fc.integer({ min: 100, max: 599 }),
  errorNum: fc.nat(),
  retryable: fc.boolean(),
  data: fc.dictionary(fc.string({ minLength: 1 }), json).map((data) => JSON.parse(JSON.stringify(data)) as { [name: string]: JsonValue }),
});
const frame: fc.Arbitrary<RpcFrame> = fc.oneof(
  json.map((value) => ({ kind: 'json' as const, value })),
  fc.uint8Array().map((bytes) => ({ kind: 'bytes' as const, bytes })),
  timestamp.map((at) => ({ kind: 'end' as const, timestamp: at })),
  fc.record({ kind: fc.constant('error' as const), error, timestamp }),
);

const violation = (thrown: unknown): boolean => thrown instanceof OstrakaError && thrown.code === 'PROTOCOL_VIOLATION';
const decodes = (bytes: Uint8Array): void => {
  try {
    rpcFrame.decode(bytes);
  } catch (thrown) {
    if (!violation(thrown)) throw thrown;
  }
};

it('every frame round trips', () => {
  fc.assert(
    fc.property(frame, (one) => {
      expect(rpcFrame.decode(rpcFrame.encode(one))).toEqual(one);
    }),
  );
});

it('any bytes give a frame or PROTOCOL_VIOLATION', () => {
  const tagged = fc.tuple(
    fc.integer({ min: 0, max: 5 }),
    fc.oneof(
      fc.uint8Array(),
      json.map((value) => utf8.encode(JSON.stringify(value))),
    ),
  );
  fc.assert(fc.property(fc.uint8Array(), decodes));
  fc.assert(
    fc.property(tagged, ([tag, payload]) => decodes(Uint8Array.of(tag, ...payload))),
    { numRuns: 500 },
  );
});

it.each([
  [3, 'null'],
  [3, '{}'],
  [3, '{"timestamp":1e300}'],
  [3, '{"timestamp":-1}'],
  [4, 'null'],
  [4, '{"timestamp":1}'],
  [4, '{"timestamp":1,"error":{"code":"X"}}'],
  [4, '{"timestamp":1,"error":{"code":"X","message":"m","httpStatus":500,"errorNum":0,"retryable":false,"data":null}}'],
  [9, '{}'],
  [1, '{'],
])('refuses a frame of kind %i with %s', (tag, payload) => {
  expect(() => rpcFrame.decode(Uint8Array.of(tag, ...utf8.encode(payload)))).toThrow(
    expect.objectContaining({ code: 'PROTOCOL_VIOLATION', httpStatus: 502 }),
  );
});

it('refuses an empty frame', () => {
  expect(() => rpcFrame.decode(new Uint8Array(0))).toThrow('unknown kind');
});
