import { z } from 'zod';
import type { JsonValue } from '../../base/index.js';
import type { Constraint } from '../../platform/index.js';
import { gatewayError } from '../errors.js';

const json = z.custom<JsonValue>((value) => value !== undefined);
const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string().max(64).optional(),
      description: z.string().nullish(),
      schema: json,
      /** The answer satisfies its schema in any case. */
      strict: z.boolean().nullish(),
    }),
  }),
]);

/** What an answer must be: OpenAI's `response_format`, and the fields that vLLM has for other forms, the older and the newer. One of them at most. */
const fields = {
  response_format: responseFormat.nullish(),
  guided_json: json.nullish(),
  guided_regex: z.string().min(1).max(65_536).nullish(),
  guided_choice: z.array(z.string().min(1)).min(1).max(4_096).nullish(),
  guided_grammar: z.string().min(1).max(262_144).nullish(),
  structured_outputs: z
    .strictObject({
      json: json.nullish(),
      json_object: z.boolean().nullish(),
      regex: z.string().min(1).max(65_536).nullish(),
      choice: z.array(z.string().min(1)).min(1).max(4_096).nullish(),
      grammar: z.string().min(1).max(262_144).nullish(),
    })
    .nullish(),
};

type Given = z.infer<z.ZodObject<typeof fields>>;

const ofFormat = (format: Given['response_format']): Constraint | undefined => {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { kind: 'jsonSchema', schema: { type: 'object' } };
  return { kind: 'jsonSchema', schema: format.json_schema.schema };
};

const toConstraint = (given: Given): Constraint | undefined => {
  const all = [
    ofFormat(given.response_format),
    ...formsOf({ json: given.guided_json, regex: given.guided_regex, choice: given.guided_choice, grammar: given.guided_grammar }),
    ...formsOf(given.structured_outputs ?? {}),
  ].filter((constraint) => constraint !== undefined);
  if (all.length > 1)
    throw gatewayError(
      'PARAMETER_BAD',
      'an answer has one form: response_format, structured_outputs, or one of guided_json, guided_regex, guided_choice, guided_grammar',
      {
        data: { param: 'response_format' },
      },
    );
  return all[0];
};

type Forms = NonNullable<Given['structured_outputs']>;

const formsOf = ({ json: schema, json_object: anyObject, regex, choice, grammar }: Forms): readonly (Constraint | undefined)[] => [
  schema === null || schema === undefined ? undefined : schemaOf(schema),
  anyObject ? { kind: 'jsonSchema', schema: { type: 'object' } } : undefined,
  regex ? { kind: 'regex', pattern: regex } : undefined,
  choice ? { kind: 'choice', texts: choice } : undefined,
  grammar ? { kind: 'gbnf', grammar } : undefined,
];

/** vLLM takes the schema as an object or as its text. */
const schemaOf = (given: JsonValue): Constraint => {
  if (typeof given !== 'string') return { kind: 'jsonSchema', schema: given };
  try {
    return { kind: 'jsonSchema', schema: JSON.parse(given) as JsonValue };
  } catch (cause) {
    throw gatewayError('PARAMETER_BAD', 'the schema is a text that is not JSON', { data: { param: 'guided_json' }, cause });
  }
};

/** The fields as a zod shape, and the constraint they name. Errors: PARAMETER_BAD. */
export const constraintFields = { fields, toConstraint } as const;
