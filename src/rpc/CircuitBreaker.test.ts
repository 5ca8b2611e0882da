import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/ManualClock.js';
import { CircuitBreaker } from './CircuitBreaker.js';

let clock: ManualClock;
let breaker: CircuitBreaker;
beforeEach(() => {
  clock = new ManualClock();
  breaker = new CircuitBreaker({ clock, failuresMax: 5, recoveryMs: 60_000 });
});
const calls = (...outcomes: ('success' | 'failure' | 'neutral')[]): void => {
  for (const outcome of outcomes) breaker.tryEnter()?.end(outcome);
};
const fail = (times: number): void => calls(...Array.from({ length: times }, () => 'failure' as const));

it('opens after five failures in a row, not after four', () => {
  fail(4);
  expect(breaker.state).toBe('closed');
  fail(1);
  expect([breaker.state, breaker.admits, breaker.tryEnter()]).toEqual(['open', false, undefined]);
});

it('a success between starts the count again; a neutral end changes nothing', () => {
  fail(4);
  calls('success');
  fail(4);
  calls('neutral');
  expect(breaker.state).toBe('closed');
  fail(1);
  expect(breaker.state).toBe('open');
});

it('lets exactly one probe through after the recovery time; its success closes, its failure opens again', async () => {
  fail(5);
  await clock.advance(59_999);
  expect(breaker.tryEnter()).toBeUndefined();
  await clock.advance(1);
  expect(breaker.state).toBe('half-open');
  const probe = breaker.tryEnter();
  expect([breaker.admits, breaker.tryEnter()]).toEqual([false, undefined]);
  probe?.end('failure');
  expect(breaker.state).toBe('open');
  await clock.advance(60_000);
  calls('success');
  expect([breaker.state, breaker.admits]).toEqual(['closed', true]);
});

it('a probe that has been answered at all lets the others through before its long answer ends', async () => {
  fail(5);
  await clock.advance(60_000);
  const probe = breaker.tryEnter();
  probe?.proven();
  expect([breaker.state, breaker.admits]).toEqual(['closed', true]);
  probe?.end('failure');
  expect(breaker.state).toBe('closed'); // one failure like any other
});

it('a probe that its caller gave up leaves room for another', async () => {
  fail(5);
  await clock.advance(60_000);
  calls('neutral');
  expect([breaker.state, breaker.admits]).toEqual(['half-open', true]);
});

it('after a reset, calls of the earlier life are no evidence', async () => {
  fail(5);
  await clock.advance(60_000);
  const probe = breaker.tryEnter();
  breaker.reset();
  expect([breaker.state, breaker.admits]).toEqual(['closed', true]);
  probe?.end('failure');
  expect(breaker.state).toBe('closed');
  const late = breaker.tryEnter();
  breaker.reset();
  fail(4);
  late?.end('success');
  fail(1);
  expect(breaker.state).toBe('open');
});
