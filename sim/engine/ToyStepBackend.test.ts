import { stepBackendConformance } from '../../src/platform/conformance/stepBackendConformance.js';
import { ToyStepBackend } from './index.js';

stepBackendConformance({
  name: 'toy',
  open: () => new ToyStepBackend({ sequences: 4, contextTokens: 512, script: [] }),
  adapterPath: 'norvane',
});
