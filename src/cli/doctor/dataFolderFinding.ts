import { dataFormat } from '../dataFormat.js';
import type { Finding } from './Finding.js';
import type { RunningCluster } from './readRunningCluster.js';

/** What the data folder says by its marker, whose text is undefined where there is none. */
export function dataFolderFinding(given: {
  readonly folder: string;
  readonly marker: string | undefined;
  readonly running: RunningCluster | undefined;
}): Finding {
  const { folder, marker, running } = given;
  const check = 'data folder';
  if (marker === undefined) return { check, state: 'ok', found: `${folder} is new`, advice: '' };
  const format = dataFormat.of(marker);
  const aside = 'or choose another folder with --data';
  if (format === undefined)
    return {
      check,
      state: 'problem',
      found: `${folder}: its ${dataFormat.markerName} is not what Ostraka wrote there`,
      advice: `put {"format":${dataFormat.newest}} into it if the folder is Ostraka's, ${aside}`,
    };
  if (format > dataFormat.newest)
    return {
      check,
      state: 'problem',
      found: `${folder} has data format ${format}, this version knows ${dataFormat.newest}`,
      advice: `use a newer Ostraka, ${aside}`,
    };
  const use = running ? `, in use by process ${running.pid}` : '';
  return { check, state: 'ok', found: `${folder}, format ${format}${use}`, advice: '' };
}
