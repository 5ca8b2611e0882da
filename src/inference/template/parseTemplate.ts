import { parse, tokenize } from '@huggingface/jinja';
import { platformError } from '../../platform/index.js';
import { templateLimits } from './templateLimits.js';

/** The root of the nodes that a template was parsed to. */
export interface ParsedTemplate {
  readonly type: string;
}

/** A model without a template is a plain one: it continues the contents, one paragraph each. Errors: MODEL_INVALID. */
export function parseTemplate(source: string): ParsedTemplate | undefined {
  if (source === '') return undefined;
  checkLength(source);
  try {
    return parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw platformError('MODEL_INVALID', `the chat template of the model cannot be parsed: ${cut(reason)}`, { cause });
  }
}

const cut = (text: string): string => text.slice(0, templateLimits.messageCharactersMax);

const checkLength = (source: string): void => {
  const { sourceCharactersMax, spaceRunMax } = templateLimits;
  const refuse = (what: string) => platformError('MODEL_INVALID', `the chat template of the model has ${what}`);
  if (source.length > sourceCharactersMax) throw refuse(`${source.length} characters (at most ${sourceCharactersMax})`);
  if (longestSpaces(source) > spaceRunMax) throw refuse(`more than ${spaceRunMax} spaces in a row`);
};

const longestSpaces = (source: string): number => {
  let longest = 0;
  for (const [spaces] of source.matchAll(/\s+/g)) longest = Math.max(longest, spaces.length);
  return longest;
};
