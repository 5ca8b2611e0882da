import { z } from 'zod';

/** Of a tool: it stands in the model's answer as it is. */
export const toolName = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must have 1 to 128 letters, digits, _ or -');
