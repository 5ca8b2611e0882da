import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHubName } from './parseHubName.js';
import { writeHubName } from './writeHubName.js';

describe('names on a hub', () => {
  it.each([
    ['hf:owner/name', { owner: 'owner', repository: 'name', file: undefined, revision: 'main' }],
    ['hf:o-1/N.2_x/a.gguf', { owner: 'o-1', repository: 'N.2_x', file: 'a.gguf', revision: 'main' }],
    ['hf:o/n/sub/a.Q4_K_M.gguf@v1.0', { owner: 'o', repository: 'n', file: 'sub/a.Q4_K_M.gguf', revision: 'v1.0' }],
    ['hf:o/n@refs/pr/3', { owner: 'o', repository: 'n', file: undefined, revision: 'refs/pr/3' }],
  ])('%s', (text, expected) => {
    expect(parseHubName(text)).toEqual(expected);
    expect(parseHubName(writeHubName(parseHubName(text)))).toEqual(expected);
  });

  it('has one text for a name', () => {
    expect(writeHubName(parseHubName('hf:o/n/a.gguf@main'))).toBe('hf:o/n/a.gguf');
  });

  it.each([
    '',
    'o/n',
    'hf:',
    'hf:o',
    'hf:o/',
    'hf:/n',
    'hf:o/n/',
    'hf:o/n@',
    'hf:o/n/a.bin',
    'hf:../n',
    'hf:o/..',
    'hf:o/n/../a.gguf',
    'hf:o/n/.a.gguf',
    'hf:o/n//a.gguf',
    'hf:o/n/a.gguf@../x',
    'hf:o n/x',
    'hf:o/n?x=1',
    'hf:o/n#x',
    'hf:o/n/a%2e.gguf',
    `hf:o/${'n'.repeat(200)}`,
    'hf:o/n/a.gguf@b@c',
  ])('refuses %j', (text) => {
    expect(() => parseHubName(text)).toThrow(expect.objectContaining({ code: 'MODEL_NAME_INVALID' }));
  });

  it('never lets anything into a path of a request that leads elsewhere', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', '.', '/', '@', '%', '?', '#', '\\', ' ', ':', '-'), maxLength: 16 });
    fc.assert(
      fc.property(letters, letters, letters, (owner, name, rest) => {
        try {
          const found = parseHubName(`hf:${owner}/${name}/${rest}`);
          const path = `/${found.owner}/${found.repository}/${found.file ?? ''}/${found.revision}`;
          expect(new URL(path, 'http://h').pathname).toBe(path);
          expect(path).not.toMatch(/\.\.|\/\./);
        } catch (error) {
          expect(error).toMatchObject({ code: 'MODEL_NAME_INVALID' });
        }
      }),
    );
  });
});
