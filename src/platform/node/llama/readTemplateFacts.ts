import { utf8 } from '../../../base/index.js';
import type { TemplateFacts } from '../../index.js';
import type { LlamaModel } from './LlamaModel.js';
import type { LlamaTokenizer } from './LlamaTokenizer.js';

/** What a chat template needs to know of a model. */
export function readTemplateFacts(loaded: LlamaModel, tokenizer: LlamaTokenizer): TemplateFacts {
  const { api, model, vocabulary, vocabularySize } = loaded;
  const textOf = (token: number) => (token < 0 ? '' : utf8.decode(tokenizer.pieceOf(token, true)));
  const endTokens = new Set<number>();
  for (let token = 0; token < vocabularySize; token++) if (api.isEndOfGeneration(vocabulary, token)) endTokens.add(token);
  return {
    endTokens,
    chatTemplate: api.chatTemplate(model, null) ?? '',
    beginText: textOf(api.beginToken(vocabulary)),
    endText: textOf(api.endToken(vocabulary)),
  };
}
