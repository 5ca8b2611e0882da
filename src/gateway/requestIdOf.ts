import type { HttpRequest, Random } from '../platform/index.js';

const sane = /^[\x20-\x7e]{1,128}$/;

/** The id of a request in answers, errors and logs: the client's `x-request-id`, if it is short and printable, else a new one. */
export function requestIdOf(headers: HttpRequest['headers'], random: Random): string {
  const given = headers['x-request-id'];
  if (given !== undefined && sane.test(given)) return given;
  return `req_${[random.uint32(), random.uint32()].map((half) => half.toString(16).padStart(8, '0')).join('')}`;
}
