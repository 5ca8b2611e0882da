import { ManualClock } from '../../../test/support/ManualClock.js';
import { clockConformance } from '../conformance/clockConformance.js';
import { NodeClock } from './NodeClock.js';

clockConformance({ name: 'of the machine', open: () => new NodeClock(), during: (_, work) => work });

clockConformance({
  name: 'moved by hand',
  open: () => new ManualClock(),
  during: async (clock, work) => {
    await (clock as ManualClock).advance(20);
    return work;
  },
});
