import type { EngineProgress } from '../platform/index.js';

/** `: chat model, 40 %`; nothing where nothing is known. */
export function describeProgress(progress: EngineProgress | undefined): string {
  if (progress === undefined) return '';
  return `: ${progress.phase}${progress.percent === undefined ? '' : `, ${progress.percent} %`}`;
}
