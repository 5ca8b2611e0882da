import { baseError } from '../../base/index.js';
import { gatewayError } from '../errors.js';

/** Fields that clients send and that change nothing here. */
const harmless = new Set([
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'verbosity',
  'reasoning_effort',
  'parallel_tool_calls',
]);

/** Fields whose neutral value asks for nothing; another value is a part we do not have (R22). */
const neutral = new Map<string, readonly unknown[]>([
  ['tools', []],
  ['tool_choice', ['none', 'auto']],
  ['functions', []],
  ['function_call', ['none', 'auto']],
  ['modalities', []],
  ['audio', []],
  ['prediction', []],
  ['web_search_options', []],
  ['suffix', ['']],
]);

/** Refuses fields that are unknown (PARAMETER_BAD) or ask for what there is not (NOT_SUPPORTED); never ignores what would change an answer. */
export function checkFields(body: { readonly [field: string]: unknown }, known: ReadonlySet<string>): void {
  for (const [field, value] of Object.entries(body)) {
    if (known.has(field) || harmless.has(field) || value === null || value === undefined) continue;
    const allowed = neutral.get(field);
    if (!allowed) throw gatewayError('PARAMETER_BAD', `unknown field ${field}`, { data: { param: field } });
    if (allowed.includes(value) || isEmpty(value)) continue;
    throw baseError('NOT_SUPPORTED', `${field} is not supported yet (R22); see docs/paper-map.md`, { data: { param: field } });
  }
}

const isEmpty = (value: unknown): boolean =>
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' &&
    value !== null &&
    (Object.keys(value).length === 0 || (value as { readonly type?: unknown }).type === 'text'));
