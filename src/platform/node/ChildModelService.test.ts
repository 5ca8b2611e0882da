import { describe, expect, it } from 'vitest';
import { type GenerateRequest, idleLoad, type LoadReport, noEngineFigures, plainSampling } from '../index.js';
import { ChildModelService } from './ChildModelService.js';
import type { EngineCommand } from './engineMessages.js';

const idle: LoadReport = idleLoad(4);
const request: GenerateRequest = {
  requestId: 'r',
  model: 'default',
  messages: [{ role: 'user', content: 'x' }],
  sampling: { ...plainSampling, tokensMax: 8 },
  priority: 'normal',
};

describe('ChildModelService', () => {
  const open = () => {
    const sent: EngineCommand[] = [];
    const facts = { models: [], abilities: { sameTextUnderLoad: true, adapters: true, prefixes: true } };
    const service = new ChildModelService({ send: (command) => sent.push(command), facts, load: idle, figures: noEngineFigures });
    return { sent, service, abort: new AbortController() };
  };

  it('gives events in order and ends with the call', async () => {
    const { sent, service, abort } = open();
    const events = service.generate(request, abort.signal)[Symbol.asyncIterator]();
    const first = events.next();
    expect(sent).toEqual([{ kind: 'call', call: 0, body: { kind: 'generate', request } }]);
    service.receive({
      kind: 'batch',
      items: [
        { kind: 'event', call: 0, event: { kind: 'admitted', promptTokens: 3 } },
        { kind: 'event', call: 0, event: { kind: 'text', text: 'a', tokens: 1 } },
        { kind: 'end', call: 0 },
      ],
    });
    expect([(await first).value, (await events.next()).value, (await events.next()).done]).toEqual([
      { kind: 'admitted', promptTokens: 3 },
      { kind: 'text', text: 'a', tokens: 1 },
      true,
    ]);
    expect(sent).toHaveLength(1);
  });

  it('ends an aborted call at once, tells the engine, and ignores what was on the way', async () => {
    const { sent, service, abort } = open();
    const next = service.generate(request, abort.signal)[Symbol.asyncIterator]().next();
    const counted = service.tokenize('default', 'x', abort.signal);
    abort.abort();
    await expect(next).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(counted).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(sent.slice(2)).toEqual([
      { kind: 'abort', call: 0 },
      { kind: 'abort', call: 1 },
    ]);
    service.receive({ kind: 'batch', items: [{ kind: 'value', call: 1, value: [1] }] });
  });

  it('brings errors across with their code and data', async () => {
    const { service, abort } = open();
    const counted = service.tokenize('default', 'x', abort.signal);
    const error = { code: 'MODEL_UNKNOWN', message: 'no', httpStatus: 404, errorNum: 8103, retryable: false, data: { model: 'x' } };
    service.receive({ kind: 'batch', items: [{ kind: 'error', call: 0, error }] });
    await expect(counted).rejects.toMatchObject(error);
  });

  it('fails what is in flight, and what comes after, when the engine is lost', async () => {
    const { sent, service, abort } = open();
    service.receive({ kind: 'load', figures: noEngineFigures, load: { ...idle, pendingLlmRequests: 1, sequencesBusy: 1 } });
    expect(service.load().sequencesBusy).toBe(1);
    const counted = service.tokenize('default', 'x', abort.signal);
    service.lose('signal SIGKILL');
    await expect(counted).rejects.toMatchObject({ code: 'ENGINE_LOST', retryable: true });
    await expect(service.tokenize('default', 'x', abort.signal)).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    expect(service.load()).toEqual(idle);
    expect(sent).toHaveLength(1);
  });
});
