import type { ClientAnswer } from './ClientAnswer.js';

/** Whether a write took effect, by its answer. A server's error leaves that open, but for a full disk, which refuses a write whole. */
export function effectOf(answer: ClientAnswer): 'done' | 'none' | 'unknown' {
  if (answer.kind === 'refused') return 'none';
  if (answer.kind === 'lost') return 'unknown';
  if (answer.status < 300) return 'done';
  if (answer.code === 'CANCELLED') return 'unknown';
  return answer.status < 500 || answer.code === 'STORE_FULL' ? 'none' : 'unknown';
}
