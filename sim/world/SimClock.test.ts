import { afterAll } from 'vitest';
import { clockConformance } from '../../src/platform/conformance/clockConformance.js';
import { QuickClock } from '../engine/index.js';
import { RunningWorld } from './RunningWorld.js';

const running = new RunningWorld();
afterAll(() => running.stop());

clockConformance({ name: 'simulated', open: () => running.clock, during: (_, work) => work });
clockConformance({ name: 'of one simulated engine', open: () => new QuickClock(), during: (_, work) => work });
