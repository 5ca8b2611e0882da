import type { EngineConfig } from '../platform/index.js';
import type { ModelKind } from './KnownModel.js';

/** A model that a shard serves beside its own two, on an engine of its own. */
export interface ServedModel {
  /** What requests call it. */
  readonly name: string;
  readonly digest: string;
  readonly kind: ModelKind;
  /** What its engine is started with: this model and no other. */
  readonly engine: EngineConfig;
}
