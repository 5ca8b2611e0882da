// training: LoRA adapters from examples of a domain, and from PEFT files (R21, R29). Pure but for the ports it is given: the model's passes
// and their gradients come from a TrainingBackend, the state goes to a CheckpointFile.
export { type ConvertedAdapter, convertPeft } from './convertPeft.js';
export { type AdapterContent, type AdapterTensor, encodeAdapter } from './encodeAdapter.js';
export { encodeExamples } from './encodeExamples.js';
export { trainingError, trainingErrors } from './errors.js';
export { type CheckpointFile, IncrementalLoRATrainer, type TrainerParts, type TrainingProgress } from './IncrementalLoRATrainer.js';
export { type TrainerOptions, type TrainingOptions, trainerOptions, trainingOptions } from './options.js';
export { type Example, parseExamples } from './parseExamples.js';
export type { TrainingRun } from './TrainingRun.js';
