import type { SamplingOptions, ToolUse } from '../../platform/index.js';
import { gatewayError } from '../errors.js';

/** A form of the text beside calls must be told from them by its first character: JSON is, other forms may not be. Error PARAMETER_BAD. */
export function checkToolForm(tools: ToolUse | undefined, { constraint }: SamplingOptions): void {
  if (tools === undefined || constraint === undefined || constraint.kind === 'json' || constraint.kind === 'jsonSchema') return;
  throw gatewayError('PARAMETER_BAD', 'beside tools the text of an answer has a JSON form or none', { data: { param: 'tools' } });
}
