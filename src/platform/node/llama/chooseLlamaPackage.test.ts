import { describe, expect, it } from 'vitest';
import { chooseLlamaPackage } from './chooseLlamaPackage.js';

const cpu = '@node-llama-cpp/linux-x64';
const choose = (installed: { readonly [name: string]: string }, usesGpu: boolean, platform = 'linux-x64') =>
  chooseLlamaPackage({ platform, usesGpu, versionOf: (name) => installed[name] });
const refusal = (message: RegExp) => expect.objectContaining({ code: 'ENGINE_UNAVAILABLE', message: expect.stringMatching(message) });

describe('chooseLlamaPackage', () => {
  it('takes the package of the processor, also beside one for a GPU that was not asked for', () => {
    expect(choose({ [cpu]: '3.21.1', [`${cpu}-cuda`]: '3.21.1' }, false)).toBe(cpu);
  });

  it('takes the first package for a GPU of the same release', () => {
    expect(choose({ [cpu]: '3.21.1', [`${cpu}-vulkan`]: '3.21.1' }, true)).toBe(`${cpu}-vulkan`);
    expect(choose({ [cpu]: '3.21.1', [`${cpu}-cuda`]: '3.21.1', [`${cpu}-vulkan`]: '3.21.1' }, true)).toBe(`${cpu}-cuda`);
    const mac = '@node-llama-cpp/mac-arm64-metal';
    expect(choose({ [mac]: '3.21.1' }, true, 'darwin-arm64')).toBe(mac);
  });

  it('says what to install when there is none, or one of another release', () => {
    const message = /same release \(3\.21\.1\): npm install @node-llama-cpp\/linux-x64-cuda@3\.21\.1, or npm install/;
    expect(() => choose({ [cpu]: '3.21.1' }, true)).toThrow(refusal(message));
    expect(() => choose({ [cpu]: '3.21.1', [`${cpu}-cuda`]: '3.20.0' }, true)).toThrow(refusal(message));
    expect(() => choose({ '@node-llama-cpp/linux-arm64': '3.21.1' }, true, 'linux-arm64')).toThrow(refusal(/leave --gpu-layers out/));
    expect(() => choose({}, false)).toThrow(refusal(/not installed/));
    expect(() => choose({}, false, 'sunos-x64')).toThrow(refusal(/sunos-x64/));
  });
});
