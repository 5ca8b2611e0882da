const longMonth = '(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])';
const shortMonth = '(0[469]|11)-(0[1-9]|[12][0-9]|30)';
const february = '02-(0[1-9]|1[0-9]|2[0-8])';
const leapYear = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)';
const date = `([0-9]{4}-(${longMonth}|${shortMonth}|${february})|${leapYear}-02-29)`;
const hour = '([01][0-9]|2[0-3])';
const time = `${hour}:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${hour}:[0-5][0-9])`;
const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const word = '[A-Za-z0-9]{1,16}';

/**
 * The values of `format`, as patterns of whole texts. Each matches a part of what the format allows, for which every validator agrees: no
 * leap seconds, no quoted or international mail addresses.
 */
export const formatPatterns: ReadonlyMap<string, string> = new Map([
  ['date', date],
  ['time', time],
  ['date-time', `${date}T${time}`],
  ['uuid', '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'],
  ['email', `${word}([._+-]${word}){0,3}@(${label}\\.){1,3}[A-Za-z]{2,12}`],
  ['ipv4', `${octet}(\\.${octet}){3}`],
]);
