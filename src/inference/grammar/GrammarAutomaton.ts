import type { CompileBudget } from './CompileBudget.js';
import { endNode, type Network, type NetworkNode } from './Network.js';

// Frames and configurations that a kept state may have on average: what bounds the memory of ambiguous grammars.
const partsOfState = 32;

/** An open rule: where its caller goes on. Equal stacks are one object, so that they compare by identity. */
interface Frame {
  readonly node: number;
  readonly parent: Frame | undefined;
  readonly depth: number;
  readonly id: number;
  readonly children: Map<number, Frame>;
}

/** A node that reads a byte, and the rules that are open there. */
interface Configuration {
  readonly node: number;
  readonly frame: Frame;
}

/** All readings of one text. */
export interface GrammarState {
  readonly configurations: readonly Configuration[];
  /** The text may end here. */
  readonly complete: boolean;
  /** By byte class; null = no text goes on so, undefined = not computed yet. */
  readonly next: (GrammarState | null | undefined)[];
  readonly arena: Arena;
}

/** What is remembered together and forgotten together: stacks refer to stacks, states to states. */
interface Arena {
  readonly root: Frame;
  readonly states: Map<string, GrammarState>;
  frames: number;
  configurations: number;
}

/**
 * Runs a network as a non-deterministic pushdown automaton and remembers the states it meets, so that a byte mostly costs one look-up.
 * A configuration whose open rules could not be closed within `stackDepthMax` is never entered: from every state some text leads to
 * the end. Errors: CONSTRAINT_TOO_LARGE (too many readings of one text).
 */
export class GrammarAutomaton {
  readonly #network: Network;
  readonly #budget: CompileBudget;
  #arena = newArena();
  #work = 0;
  /** Counts how often everything was forgotten: states of an earlier generation are not to be kept. */
  generation = 0;

  constructor(network: Network, budget: CompileBudget) {
    this.#network = network;
    this.#budget = budget;
  }

  /** The state before the first byte. */
  start(): GrammarState {
    this.beginStep();
    const state = this.#close(this.#arena, [{ node: this.#network.root, frame: this.#arena.root }]);
    return state as GrammarState; // the network was refused unless some text matches
  }

  /** A new token's work is counted from zero; memory that is full is let go. */
  beginStep(): void {
    this.#work = 0;
    const { statesMax } = this.#budget.options;
    const { states, frames, configurations } = this.#arena;
    if (states.size <= statesMax && frames + configurations <= statesMax * partsOfState) return;
    this.#arena = newArena();
    this.generation++;
  }

  /** The same state in the memory of now. */
  refresh(state: GrammarState): GrammarState {
    if (state.arena === this.#arena) return state;
    const frames = new Map<Frame, Frame>([[state.arena.root, this.#arena.root]]);
    const moved = state.configurations.map(({ node, frame }) => ({ node, frame: this.#copyOf(frame, frames) }));
    return this.#intern(this.#arena, moved, state.complete);
  }

  next(state: GrammarState, byte: number): GrammarState | null {
    const byteClass = this.#network.classOf[byte] as number;
    const known = state.next[byteClass];
    if (known !== undefined) return known;
    const { nodes, sets } = this.#network;
    const targets: Configuration[] = [];
    for (const { node, frame } of state.configurations) {
      const arc = nodes[node] as Extract<NetworkNode, { kind: 'bytes' }>;
      if ((sets[arc.set] as Uint8Array)[byteClass] === 1) targets.push({ node: arc.to, frame });
    }
    const next = targets.length === 0 ? null : this.#close(state.arena, targets);
    state.next[byteClass] = next;
    return next;
  }

  /** Follows everything that reads no byte. */
  #close(arena: Arena, targets: readonly Configuration[]): GrammarState | null {
    const { nodes } = this.#network;
    const seen = new Set<number>();
    const configurations: Configuration[] = [];
    let complete = false;
    const open: Configuration[] = [];
    const visit = (node: number, frame: Frame): void => {
      const key = frame.id * nodes.length + node;
      if (frame.depth + (this.#network.need[node] as number) > this.#budget.options.stackDepthMax || seen.has(key)) return;
      seen.add(key);
      this.#budget.check('stepWorkMax', ++this.#work);
      open.push({ node, frame });
    };
    for (const { node, frame } of targets) visit(node, frame);
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      const { frame } = each;
      const node = nodes[each.node] as NetworkNode;
      if (node.kind === 'bytes') configurations.push(each);
      else if (node.kind === 'split') for (const to of node.to) visit(to, frame);
      else if (node.kind === 'call') this.#open(arena, node, frame, visit);
      else if (frame.parent === undefined) complete = true;
      else visit(frame.node, frame.parent);
    }
    this.#budget.check('configurationsMax', configurations.length);
    return configurations.length === 0 && !complete ? null : this.#intern(arena, configurations, complete);
  }

  #open(
    arena: Arena,
    { rule, to }: Extract<NetworkNode, { kind: 'call' }>,
    frame: Frame,
    visit: (node: number, frame: Frame) => void,
  ): void {
    const start = this.#network.starts[rule] as number;
    // A rule that is called at the end of a rule returns to where that one would: right recursion needs no stack.
    if (to === endNode) visit(start, frame);
    else if (frame.depth + (this.#network.need[to] as number) <= this.#budget.options.stackDepthMax) visit(start, push(arena, to, frame));
  }

  #intern(arena: Arena, configurations: readonly Configuration[], complete: boolean): GrammarState {
    const size = this.#network.nodes.length;
    const keys = Float64Array.from(configurations, ({ node, frame }) => frame.id * size + node).sort();
    const key = `${complete ? '!' : ''}${keys.join(',')}`;
    const known = arena.states.get(key);
    if (known !== undefined) return known;
    const next = new Array<GrammarState | null | undefined>(this.#network.classCount).fill(undefined);
    const state: GrammarState = { configurations, complete, next, arena };
    arena.states.set(key, state);
    arena.configurations += configurations.length;
    return state;
  }

  #copyOf(frame: Frame, copies: Map<Frame, Frame>): Frame {
    const path: Frame[] = [];
    let known = frame;
    while (!copies.has(known)) {
      path.push(known);
      known = known.parent as Frame;
    }
    let copy = copies.get(known) as Frame;
    for (const each of path.reverse()) {
      copy = push(this.#arena, each.node, copy);
      copies.set(each, copy);
    }
    return copy;
  }
}

const newArena = (): Arena => ({
  root: { node: endNode, parent: undefined, depth: 0, id: 0, children: new Map() },
  states: new Map(),
  frames: 1,
  configurations: 0,
});

function push(arena: Arena, node: number, parent: Frame): Frame {
  const known = parent.children.get(node);
  if (known !== undefined) return known;
  const frame: Frame = { node, parent, depth: parent.depth + 1, id: arena.frames++, children: new Map() };
  parent.children.set(node, frame);
  return frame;
}
