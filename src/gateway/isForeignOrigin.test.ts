import { describe, expect, it } from 'vitest';
import { isForeignOrigin } from './isForeignOrigin.js';

describe('isForeignOrigin', () => {
  it.each([
    [{ host: '127.0.0.1:8529' }, false],
    [{ host: 'localhost:8529' }, false],
    [{ host: '[::1]:8529' }, false],
    [{}, false],
    [{ host: '127.0.0.1:8529', origin: 'http://127.0.0.1:8529' }, false],
    [{ host: '127.0.0.1:8529', origin: 'https://evil.example' }, true],
    [{ host: '127.0.0.1:8529', origin: 'http://127.0.0.1:9999' }, true],
    [{ host: '127.0.0.1:8529', origin: 'null' }, true],
    [{ host: 'rebound.example:8529' }, true],
    [{ host: '127.0.0.1.evil.example' }, true],
  ])('%o → %s', (headers, expected) => {
    expect(isForeignOrigin({ headers: headers as Record<string, string> })).toBe(expected);
  });
});
