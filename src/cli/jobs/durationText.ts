const minute = 60;
const hour = 60 * minute;

/** Two figures at most: nobody needs the seconds of hours. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * minute) return `${Math.round(seconds / minute)} min`;
  return `${Math.floor(seconds / hour)} h ${Math.round((seconds % hour) / minute)} min`;
}
