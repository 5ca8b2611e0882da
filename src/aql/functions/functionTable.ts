import { arrayFunctions } from './arrayFunctions.js';
import type { FunctionDefinition } from './FunctionDefinition.js';
import { miscFunctions } from './miscFunctions.js';
import { numberFunctions } from './numberFunctions.js';
import { objectFunctions } from './objectFunctions.js';
import { regexFunctions } from './regexFunctions.js';
import { stringFunctions } from './stringFunctions.js';
import { typeFunctions } from './typeFunctions.js';
import { vectorFunctions } from './vectorFunctions.js';

const tables = [
  typeFunctions,
  stringFunctions,
  regexFunctions,
  arrayFunctions,
  objectFunctions,
  numberFunctions,
  vectorFunctions,
  miscFunctions,
];

/** Every function by its upper-case name. A map, since a query may name a function `constructor`. */
export const functionTable: ReadonlyMap<string, FunctionDefinition> = new Map(tables.flatMap((table) => Object.entries(table)));
