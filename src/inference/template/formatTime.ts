const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

const two = (number: number): string => String(number).padStart(2, '0');

const parts: { readonly [part: string]: (time: Date) => string } = {
  Y: (time) => String(time.getUTCFullYear()),
  m: (time) => two(time.getUTCMonth() + 1),
  d: (time) => two(time.getUTCDate()),
  b: (time) => (months[time.getUTCMonth()] as string).slice(0, 3),
  B: (time) => months[time.getUTCMonth()] as string,
  H: (time) => two(time.getUTCHours()),
  M: (time) => two(time.getUTCMinutes()),
  '%': () => '%',
};

/** As `strftime` writes a time, the parts that chat templates use; in UTC and English, so that all shards write the same prompt. */
export function formatTime(timeMs: number, format: string): string {
  const time = new Date(timeMs);
  return format.replace(/%[YmdbBHM%]/g, (form) => (parts[form.charAt(1)] as (time: Date) => string)(time));
}
