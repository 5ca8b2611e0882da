import type { TemplateFacts } from '../../index.js';
import { type LlamaModel, loadLlamaModel, type ModelFile } from './LlamaModel.js';
import { LlamaTokenizer } from './LlamaTokenizer.js';
import { readTemplateFacts } from './readTemplateFacts.js';

/** Tokenizer and chat template of a model without its weights. */
export class LlamaVocabulary {
  readonly facts: TemplateFacts;
  readonly #model: LlamaModel;
  readonly #tokenizer: LlamaTokenizer;

  private constructor(model: LlamaModel) {
    this.#model = model;
    this.#tokenizer = new LlamaTokenizer(model);
    this.facts = readTemplateFacts(model, this.#tokenizer);
  }

  /** Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
  static open(file: ModelFile): LlamaVocabulary {
    return new LlamaVocabulary(loadLlamaModel(file, { vocabularyOnly: true }));
  }

  tokenize(text: string, options: { readonly parseSpecial: boolean }): Int32Array {
    return this.#tokenizer.tokenize(text, { parseSpecial: options.parseSpecial, addSpecial: false });
  }

  close(): void {
    this.#model.api.freeModel(this.#model.model);
  }
}
