// sim: the whole cluster in one process under virtual time and seeded faults. The shards are the product's own; the ports, the clients and
// the checkers are the simulator's. `npm run sim -- --seed 7` replays a run, `npm run soak` tries many.
export { type PlantedBugName, plantedBugs } from './bugs/plantedBugs.js';
export { runSimulation, type SimulationOptions, type SimulationResult } from './runSimulation.js';
