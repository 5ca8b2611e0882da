import type { ChatMessage } from '../../platform/index.js';
import { gatewayError } from '../errors.js';

/** Each result answers a call that stands before it: a result of no call would be a user's word in the tool's mouth. Error PARAMETER_BAD. */
export function checkToolResults(messages: readonly ChatMessage[], param: string): void {
  const known = new Set<string>();
  for (const { role, toolCalls = [], toolCallId } of messages) {
    for (const { id } of toolCalls) known.add(id);
    if (role === 'tool' && !known.has(toolCallId ?? ''))
      throw gatewayError('PARAMETER_BAD', `${param}: the result ${toolCallId} answers no call before it`, { data: { param } });
  }
}
