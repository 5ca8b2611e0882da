import type { LinearName } from '../../index.js';
import type { Pointer } from '../llama/LlamaApi.js';
import type { LlamaDescription } from './describeLlama.js';
import { type GgmlGraph, ggmlTypes, type RopeShape } from './GgmlGraph.js';
import type { LayerWeights, LlamaWeights } from './LlamaWeights.js';
import type { PassLayout } from './layOutPass.js';

/** The trainable pair of a matrix: `a` takes its input to the rank, `b` from there to its output. */
export interface AdapterPair {
  readonly a: Pointer;
  readonly b: Pointer;
}

export interface LlamaPassModel {
  readonly description: LlamaDescription;
  readonly weights: LlamaWeights;
  readonly adapterOf: (layer: number, name: LinearName) => AdapterPair | undefined;
  /** alpha / rank. */
  readonly adapterScale: number;
}

export interface PassInputs {
  readonly tokens: Pointer;
  readonly positionIds: Pointer;
  readonly targetRows: Pointer;
  /** 0 where a position may look, −∞ where not. */
  readonly mask: Pointer;
  /** 1 at the token that each target row should give. */
  readonly expected: Pointer;
}

export interface GradientOfPair {
  readonly layer: number;
  readonly name: LinearName;
  readonly a: Pointer;
  readonly b: Pointer;
}

/** What the forward pass of a matrix leaves for the backward one: its input, and the adapter's values between its two matrices. */
interface LinearTrace {
  readonly input: Pointer;
  readonly low: Pointer | undefined;
  readonly output: Pointer;
}

interface LayerTrace {
  readonly input: Pointer;
  readonly linears: Readonly<Record<LinearName, LinearTrace>>;
  /** Heads: [head width, positions, heads, sequences]. */
  readonly queries: Pointer;
  readonly keys: Pointer;
  readonly values: Pointer;
  readonly attention: Pointer;
  readonly middle: Pointer;
  readonly gate: Pointer;
}

/**
 * The forward and backward pass of a llama model with a LoRA adapter as one graph. The frozen weights have no gradients: they only carry
 * those of the adapter back. Values are [width, rows], rows being sequences × positions.
 */
export class LlamaPass {
  readonly inputs: PassInputs;
  readonly gradients: GradientOfPair[] = [];
  readonly #graph: GgmlGraph;
  readonly #model: LlamaPassModel;
  readonly #layout: PassLayout;
  readonly #rope: RopeShape;

  constructor(graph: GgmlGraph, model: LlamaPassModel, layout: PassLayout) {
    this.#graph = graph;
    this.#model = model;
    this.#layout = layout;
    const { vocabularySize, width, heads } = model.description.shape;
    this.#rope = { dimensions: width / heads, base: model.description.ropeBase };
    const { f32, i32 } = ggmlTypes;
    this.inputs = {
      tokens: graph.input(i32, layout.tokens.length),
      positionIds: graph.input(i32, layout.tokens.length),
      targetRows: graph.input(i32, layout.targetRows.length),
      mask: graph.input(f32, layout.positions, layout.positions),
      expected: graph.input(f32, vocabularySize, layout.targetRows.length),
    };
  }

  /**
   * Adds the whole pass; returns the probabilities of the target rows. With a gradient scale other than 0, `gradients` then holds those
   * of the sum of the losses, times the scale.
   */
  build(gradientScale: number): Pointer {
    const graph = this.#graph;
    const { weights, description } = this.#model;
    let values = graph.rows(weights.embedding, this.inputs.tokens);
    const traces: LayerTrace[] = [];
    for (const [index, layer] of weights.layers.entries()) {
      const { trace, output } = this.#forward(index, layer, values);
      traces.push(trace);
      values = output;
    }
    const picked = graph.rows(values, this.inputs.targetRows);
    const normed = graph.multiply(graph.rmsNorm(picked, description.normEpsilon), weights.outputNorm);
    const probabilities = graph.output(graph.softMax(graph.matmul(weights.output.weight, normed), { mask: null, scale: 1 }));
    if (gradientScale === 0) return probabilities;
    const ofLogits = graph.scale(graph.subtract(probabilities, this.inputs.expected), gradientScale);
    const ofNormed = graph.multiply(graph.matmul(weights.output.transposed, ofLogits), weights.outputNorm);
    const ofPicked = graph.rmsNormBack(ofNormed, picked, description.normEpsilon);
    this.#backward(traces, graph.rowsBack(ofPicked, this.inputs.targetRows, values));
    return probabilities;
  }

  #forward(index: number, layer: LayerWeights, input: Pointer): { readonly trace: LayerTrace; readonly output: Pointer } {
    const graph = this.#graph;
    const { heads, headsOfKeys } = this.#model.description.shape;
    const linear = (name: LinearName, from: Pointer): LinearTrace => this.#linear(index, name, layer, from);
    const normed = this.#norm(input, layer.attentionNorm);
    const [attn_q, attn_k, attn_v] = [linear('attn_q', normed), linear('attn_k', normed), linear('attn_v', normed)];
    const queries = this.#toHeads(this.#turned(attn_q.output, heads), heads);
    const keys = this.#toHeads(this.#turned(attn_k.output, headsOfKeys), headsOfKeys);
    const values = this.#toHeads(attn_v.output, headsOfKeys);
    const attention = graph.softMax(graph.matmul(keys, queries), { mask: this.inputs.mask, scale: this.#attentionScale });
    const attn_output = linear('attn_output', this.#fromHeads(graph.matmul(graph.transpose(values), attention), heads));
    const middle = graph.add(input, attn_output.output);
    const normedMiddle = this.#norm(middle, layer.feedForwardNorm);
    const [ffn_gate, ffn_up] = [linear('ffn_gate', normedMiddle), linear('ffn_up', normedMiddle)];
    const gate = graph.silu(ffn_gate.output);
    const ffn_down = linear('ffn_down', graph.multiply(gate, ffn_up.output));
    const linears = { attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down };
    return {
      trace: { input, linears, queries, keys, values, attention, middle, gate },
      output: graph.add(middle, ffn_down.output),
    };
  }

  /** From the last layer to the first, whose input is the frozen table of the tokens and needs no gradient. */
  #backward(traces: readonly LayerTrace[], ofOutput: Pointer): void {
    let gradient = ofOutput;
    for (let index = traces.length - 1; index >= 0; index--) {
      const trace = traces[index] as LayerTrace;
      const layer = this.#model.weights.layers[index] as LayerWeights;
      const ofMiddle = this.#feedForwardBack(index, layer, trace, gradient);
      gradient = this.#attentionBack(index, layer, trace, ofMiddle);
    }
  }

  #feedForwardBack(index: number, layer: LayerWeights, trace: LayerTrace, gradient: Pointer): Pointer {
    const graph = this.#graph;
    const { ffn_gate, ffn_up } = trace.linears;
    const back = (name: LinearName, of: Pointer): Pointer => this.#linearBack(index, name, layer, trace.linears[name], of);
    const ofProduct = back('ffn_down', gradient);
    const ofUp = graph.multiply(ofProduct, trace.gate);
    const ofGate = graph.siluBack(graph.multiply(ofProduct, ffn_up.output), ffn_gate.output);
    const ofNormed = graph.add(back('ffn_up', ofUp), back('ffn_gate', ofGate));
    return graph.add(gradient, this.#normBack(ofNormed, trace.middle, layer.feedForwardNorm));
  }

  #attentionBack(index: number, layer: LayerWeights, trace: LayerTrace, gradient: Pointer): Pointer {
    const graph = this.#graph;
    const { heads, headsOfKeys } = this.#model.description.shape;
    const { queries, keys, values, attention } = trace;
    const back = (name: LinearName, of: Pointer): Pointer => this.#linearBack(index, name, layer, trace.linears[name], of);
    const ofContext = this.#toHeads(back('attn_output', gradient), heads);
    const ofAttention = graph.matmul(values, ofContext);
    const ofValues = this.#sumGroups(graph.matmul(graph.transpose(ofContext), graph.transpose(attention)));
    const ofScores = graph.softMaxBack(ofAttention, attention, this.#attentionScale);
    const ofQueries = graph.matmul(graph.transpose(keys), ofScores);
    const ofKeys = this.#sumGroups(graph.matmul(graph.transpose(queries), graph.transpose(ofScores)));
    const ofNormed = graph.add(
      graph.add(
        back('attn_q', this.#turnedBack(this.#fromHeads(ofQueries, heads), heads)),
        back('attn_k', this.#turnedBack(this.#fromHeads(ofKeys, headsOfKeys), headsOfKeys)),
      ),
      back('attn_v', this.#fromHeads(ofValues, headsOfKeys)),
    );
    return graph.add(gradient, this.#normBack(ofNormed, trace.input, layer.attentionNorm));
  }

  #linear(index: number, name: LinearName, layer: LayerWeights, input: Pointer): LinearTrace {
    const graph = this.#graph;
    const frozen = graph.matmul(layer.linears[name].weight, input);
    const pair = this.#model.adapterOf(index, name);
    if (pair === undefined) return { input, low: undefined, output: frozen };
    const low = graph.matmul(pair.a, input);
    return { input, low, output: graph.add(frozen, graph.scale(graph.matmul(pair.b, low), this.#model.adapterScale)) };
  }

  /** Gradient of the input; those of the adapter become outputs. */
  #linearBack(index: number, name: LinearName, layer: LayerWeights, trace: LinearTrace, gradient: Pointer): Pointer {
    const graph = this.#graph;
    const ofInput = graph.matmul(layer.linears[name].transposed, gradient);
    const pair = this.#model.adapterOf(index, name);
    if (pair === undefined || trace.low === undefined) return ofInput;
    const scaled = graph.scale(gradient, this.#model.adapterScale);
    const ofLow = graph.matmul(graph.transpose(pair.b), scaled);
    const a = graph.output(graph.outerProduct(trace.input, ofLow));
    const b = graph.output(graph.outerProduct(trace.low, scaled));
    this.gradients.push({ layer: index, name, a, b });
    return graph.add(ofInput, graph.matmul(graph.transpose(pair.a), ofLow));
  }

  #norm(values: Pointer, weight: Pointer): Pointer {
    return this.#graph.multiply(this.#graph.rmsNorm(values, this.#model.description.normEpsilon), weight);
  }

  #normBack(gradient: Pointer, values: Pointer, weight: Pointer): Pointer {
    return this.#graph.rmsNormBack(this.#graph.multiply(gradient, weight), values, this.#model.description.normEpsilon);
  }

  /** [width, rows] → [head width, heads, rows], each pair turned by its position. */
  #turned(values: Pointer, heads: number): Pointer {
    const split = this.#graph.reshape(values, this.#rope.dimensions, heads, this.#layout.tokens.length);
    return this.#graph.rope(split, this.inputs.positionIds, this.#rope);
  }

  #turnedBack(gradient: Pointer, heads: number): Pointer {
    const split = this.#graph.reshape(gradient, this.#rope.dimensions, heads, this.#layout.tokens.length);
    const turned = this.#graph.ropeBack(split, this.inputs.positionIds, this.#rope);
    return this.#graph.reshape(turned, this.#rope.dimensions * heads, this.#layout.tokens.length);
  }

  /** Rows → [head width, positions, heads, sequences]. */
  #toHeads(values: Pointer, heads: number): Pointer {
    const { positions, sequences } = this.#layout;
    return this.#graph.swapMiddle(this.#graph.reshape(values, this.#rope.dimensions, heads, positions, sequences));
  }

  #fromHeads(values: Pointer, heads: number): Pointer {
    return this.#graph.reshape(this.#graph.swapMiddle(values), this.#rope.dimensions * heads, this.#layout.tokens.length);
  }

  /** Several heads of queries share one of keys and values: its gradient is the sum of theirs. */
  #sumGroups(gradient: Pointer): Pointer {
    const graph = this.#graph;
    const { heads, headsOfKeys } = this.#model.description.shape;
    const { positions, sequences } = this.#layout;
    const size = this.#rope.dimensions * positions;
    const grouped = graph.reshape(gradient, size, heads / headsOfKeys, headsOfKeys * sequences);
    const summed = graph.repeatBack(grouped, graph.shape(ggmlTypes.f32, size, 1, headsOfKeys * sequences, 1));
    return graph.reshape(summed, this.#rope.dimensions, positions, headsOfKeys, sequences);
  }

  get #attentionScale(): number {
    return 1 / Math.sqrt(this.#rope.dimensions);
  }
}
