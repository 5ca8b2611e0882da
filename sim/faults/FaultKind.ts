/** What can go wrong in a simulation. */
export const faultKinds = [
  'loss',
  'partition',
  'oneWayCut',
  'spikes',
  'duplicates',
  'crash',
  'crashInCommit',
  'moveAdapters',
  'engineCrash',
  'engineHang',
  'stop',
  'clockSkew',
  'slowShard',
  'pause',
  'fullDisk',
  'metadata',
] as const;

export type FaultKind = (typeof faultKinds)[number];
