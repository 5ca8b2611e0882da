import { expect, it } from 'vitest';
import { CountingRandom } from '../../test/support/silentPorts.js';
import { requestIdOf } from './requestIdOf.js';

it.each(['a', '5f3c-11', 'x'.repeat(128), 'two words'])('takes the id of the client: %s', (id) => {
  expect(requestIdOf({ 'x-request-id': id }, new CountingRandom())).toBe(id);
});

it.each([undefined, '', 'x'.repeat(129), 'a\tb', 'ä', 'a\r\nb'])('makes one instead of %j, each time another', (id) => {
  const random = new CountingRandom();
  const headers = id === undefined ? {} : { 'x-request-id': id };
  const made = [requestIdOf(headers, random), requestIdOf(headers, random)];
  expect(made.every((each) => /^req_[0-9a-f]{16}$/.test(each))).toBe(true);
  expect(new Set(made).size).toBe(2);
});
