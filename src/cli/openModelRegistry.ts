import { platformError } from '../platform/index.js';
import type { ModelFile } from './up/prepareShards.js';

export function openModelRegistry(): {
  ensure(request: { readonly name: string; readonly kind: 'chat' | 'embedding'; readonly signal: AbortSignal }): Promise<ModelFile>;
} {
  return {
    ensure: async ({ name }) => {
      throw platformError('MODEL_UNKNOWN', `no model ${name}`);
    },
  };
}
