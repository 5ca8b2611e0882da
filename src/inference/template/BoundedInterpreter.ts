import { Interpreter } from '@huggingface/jinja';
import { inferenceError } from '../errors.js';
import type { ParsedTemplate } from './parseTemplate.js';
import { templateLimits } from './templateLimits.js';
import { type TemplateValue, weigh } from './weigh.js';

/** A node of a parsed template: its kind, and by name what belongs to it. */
interface Node {
  readonly type: string;
  readonly [part: string]: unknown;
}

/** What is used of the library's interpreter, whose own types cannot be read from here. */
interface BaseInterpreter {
  run(template: ParsedTemplate): TemplateValue;
  evaluate(node: Node | undefined, environment: unknown): TemplateValue;
}
const Base = Interpreter as new (environment: unknown) => BaseInterpreter;

/** Stands in a node for a part that has been evaluated. */
class Held {
  readonly type = 'Held';
  readonly value: TemplateValue;

  constructor(value: TemplateValue) {
    this.value = value;
  }
}

/** Filters, methods and operators whose cost is not that of what they read or make: they search, repeat, fill in or sort. */
const costly: ReadonlySet<unknown> = new Set([
  ...['in', 'not in', 'replace', 'split', 'startswith', 'endswith'],
  ...['join', 'indent', 'tojson', 'map', 'sort', 'dictsort'],
]);
const comparisonsPerItem = 16;
const charactersPerStep = 256;
const costlyCharactersPerStep = 64;
const nodesPerStep = 16;
/** A number among arguments counts as so many characters each: it may be the width of every line of a nested value. */
const charactersPerWidth = 16;

/**
 * Runs a parsed chat template within `templateLimits`: every node is a step, values cost by their size, and what multiplies sizes is paid
 * for before it is done. Errors: CHAT_REFUSED, and whatever the template throws.
 */
export class BoundedInterpreter extends Base {
  readonly #stepsMax: number;
  readonly #sizes = new WeakMap<object, number>();
  #steps = 0;
  #depth = 0;

  constructor(environment: unknown, stepsMax: number) {
    super(environment);
    this.#stepsMax = stepsMax;
  }

  override evaluate(node: Node | Held | undefined, environment: unknown): TemplateValue {
    if (node instanceof Held) return node.value;
    this.spend(1);
    if (++this.#depth > templateLimits.nestingMax)
      throw inferenceError('CHAT_REFUSED', `the chat template nests deeper than ${templateLimits.nestingMax}`);
    try {
      const value = super.evaluate(node && this.#prepare(node, environment), environment);
      this.spend(weigh(value) / charactersPerStep);
      return value;
    } finally {
      this.#depth--;
    }
  }

  /** Counts steps. Errors: CHAT_REFUSED, when there are too many. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps <= this.#stepsMax) return;
    throw inferenceError('CHAT_REFUSED', `the chat template takes more than ${this.#stepsMax} steps for these messages`);
  }

  /** The same node, with the parts evaluated that tell what it costs. */
  #prepare(node: Node, environment: unknown): Node {
    switch (node.type) {
      case 'For':
        return this.#prepareLoop(node, environment);
      case 'Macro':
      case 'CallStatement':
        return this.#prepareMacro(node);
      case 'FilterStatement': {
        const { body, filter } = node;
        return this.#prepareFilter({ type: 'FilterExpression', operand: { type: 'Program', body }, filter }, environment);
      }
      case 'FilterExpression':
        return this.#prepareFilter(node, environment);
      case 'BinaryExpression':
        return this.#prepareOperator(node, environment);
      case 'MemberExpression':
        return this.#prepareMember(node, environment);
      case 'CallExpression':
        return this.#prepareCall(node, environment);
      default:
        return node;
    }
  }

  #prepareLoop(node: Node, environment: unknown): Node {
    const iterable = node['iterable'] as Node;
    const isFiltered = iterable.type === 'SelectExpression';
    const items = this.#hold(isFiltered ? iterable['lhs'] : iterable, environment);
    const { value } = items.value;
    this.spend(Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0);
    return { ...node, iterable: isFiltered ? { ...iterable, lhs: items } : items };
  }

  /** The library looks through the whole body of a macro each time it is defined. */
  #prepareMacro(node: Node): Node {
    const parameters = (node['args'] ?? node['callerArgs'] ?? []) as readonly unknown[];
    if (parameters.length > templateLimits.macroParametersMax)
      throw inferenceError('CHAT_REFUSED', `a macro of the chat template has more than ${templateLimits.macroParametersMax} parameters`);
    this.spend(this.#sizeOf(node) / nodesPerStep);
    return node;
  }

  #sizeOf(part: unknown): number {
    if (typeof part !== 'object' || part === null) return 0;
    const known = this.#sizes.get(part);
    if (known !== undefined) return known;
    const inside = part instanceof Map ? [...part].flat() : Object.values(part);
    const size = inside.reduce<number>((sum, each) => sum + this.#sizeOf(each), 1);
    this.#sizes.set(part, size);
    return size;
  }

  #prepareFilter(node: Node, environment: unknown): Node {
    const filter = node['filter'] as Node;
    const isCall = filter.type === 'CallExpression';
    const name = isCall ? (filter['callee'] as Node)['value'] : filter['value'];
    if (!costly.has(name)) return node;
    const operand = this.#hold(node['operand'], environment);
    const parts = isCall ? this.#holdArguments(filter, environment) : [];
    this.#payForProduct(name, operand, parts);
    return { ...node, operand, ...(isCall && { filter: { ...filter, args: parts.map(({ part }) => part) } }) };
  }

  #prepareOperator(node: Node, environment: unknown): Node {
    const name = (node['operator'] as Node)['value'];
    if (!costly.has(name)) return node;
    const [left, right] = [this.#hold(node['left'], environment), this.#hold(node['right'], environment)];
    this.#payForProduct(name, right, [{ held: left }]);
    return { ...node, left, right };
  }

  /** A costly method is called where it is named, so that its object is known. */
  #prepareMember(node: Node, environment: unknown): Node {
    if (node['object'] instanceof Held) return node;
    const { member, object, name } = this.#holdMember(node, environment);
    if (object.value.type === 'StringValue' && costly.has(name))
      throw inferenceError('CHAT_REFUSED', `the chat template names the method ${name} without calling it`);
    return member;
  }

  #prepareCall(node: Node, environment: unknown): Node {
    const callee = node['callee'] as Node;
    if (callee.type !== 'MemberExpression') return node;
    const { member, object, name } = this.#holdMember(callee, environment);
    if (!costly.has(name)) return { ...node, callee: member };
    const parts = this.#holdArguments(node, environment);
    this.#payForProduct(name, object, parts);
    return { ...node, callee: member, args: parts.map(({ part }) => part) };
  }

  #holdMember(node: Node, environment: unknown): { readonly member: Node; readonly object: Held; readonly name: unknown } {
    const object = this.#hold(node['object'], environment);
    const property = node['property'] as Node;
    if (node['computed'] !== true || property.type === 'SliceExpression')
      return { member: { ...node, object }, object, name: property['value'] };
    const held = this.#hold(property, environment);
    return { member: { ...node, object, property: held }, object, name: held.value.value };
  }

  #hold(part: unknown, environment: unknown): Held {
    return new Held(this.evaluate(part as Node, environment));
  }

  #holdArguments(node: Node, environment: unknown): readonly { readonly part: object; readonly held: Held }[] {
    return (node['args'] as readonly Node[]).map((argument) => {
      const inside = innerPart[argument.type];
      const held = this.#hold(inside === undefined ? argument : argument[inside], environment);
      return { part: inside === undefined ? held : { ...argument, [inside]: held }, held };
    });
  }

  #payForProduct(name: unknown, subject: Held, parts: readonly { readonly held: Held }[]): void {
    const own = name === 'sort' || name === 'dictsort' ? comparisonsPerItem : 1;
    const factor = parts.reduce((sum, { held }) => sum + widthOf(held.value), own);
    this.spend((weigh(subject.value) * factor) / costlyCharactersPerStep);
  }
}

/** Where the value stands in arguments that are more than one. */
const innerPart: { readonly [kind: string]: string } = {
  SpreadExpression: 'argument',
  KeywordSpreadExpression: 'argument',
  KeywordArgumentExpression: 'value',
};

const widthOf = (value: TemplateValue): number =>
  typeof value.value === 'number' ? Math.abs(value.value) * charactersPerWidth : weigh(value);
