import type { JsonValue } from '../../base/index.js';

// The syntax tree: plain JSON, every node with `at`, the offset of its first character in the query text.

export type Quantifier = { readonly kind: 'all' | 'any' | 'none' } | { readonly kind: 'atLeast'; readonly count: Expression };

export type BinaryOperator =
  | 'OR'
  | 'AND'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'IN'
  | 'NOT IN'
  | 'LIKE'
  | 'NOT LIKE'
  | '=~'
  | '!~'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%';

export type ObjectEntry = {
  readonly key: { readonly kind: 'name'; readonly name: string } | { readonly kind: 'computed'; readonly expression: Expression };
  readonly value: Expression;
};

export interface InferExpression {
  readonly kind: 'infer';
  readonly at: number;
  readonly model: Expression;
  readonly prompt: Expression;
  readonly domain?: Expression;
  readonly adapter?: Expression;
  readonly system?: Expression;
  readonly schema?: Expression;
  readonly context?: Expression;
  readonly options?: Expression;
}

export interface EmbedExpression {
  readonly kind: 'embed';
  readonly at: number;
  readonly model: Expression;
  readonly input: Expression;
  readonly options?: Expression;
}

export interface RerankExpression {
  readonly kind: 'rerank';
  readonly at: number;
  readonly model: Expression;
  readonly query: Expression;
  readonly list: Expression;
  /** How many of the best; absent = all. */
  readonly top?: Expression;
  readonly options?: Expression;
}

export interface ExpansionExpression {
  readonly kind: 'expansion';
  readonly at: number;
  readonly source: Expression;
  /** 1 = `[*]`; n flattens n - 1 levels of nested arrays. */
  readonly levels: number;
  readonly filter?: Expression;
  readonly limit?: { readonly offset?: Expression; readonly count: Expression };
  readonly projection?: Expression;
  /** What follows `[*]`, applied to every element; its innermost source is an `element`. */
  readonly tail: Expression;
}

export type Expression =
  | { readonly kind: 'literal'; readonly at: number; readonly value: JsonValue }
  | { readonly kind: 'bind'; readonly at: number; readonly name: string }
  | { readonly kind: 'collectionBind'; readonly at: number; readonly name: string }
  | { readonly kind: 'reference'; readonly at: number; readonly name: string }
  | { readonly kind: 'element'; readonly at: number }
  | { readonly kind: 'attribute'; readonly at: number; readonly source: Expression; readonly name: string }
  | { readonly kind: 'attributeBind'; readonly at: number; readonly source: Expression; readonly bind: string }
  | { readonly kind: 'index'; readonly at: number; readonly source: Expression; readonly index: Expression }
  | ExpansionExpression
  | { readonly kind: 'unary'; readonly at: number; readonly operator: '!' | '+' | '-'; readonly operand: Expression }
  | {
      readonly kind: 'binary';
      readonly at: number;
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly quantifier?: Quantifier;
    }
  | {
      readonly kind: 'ternary';
      readonly at: number;
      readonly condition: Expression;
      /** Absent in `a ?: b`, which gives `a` where it is true. */
      readonly whenTrue?: Expression;
      readonly whenFalse: Expression;
    }
  | { readonly kind: 'range'; readonly at: number; readonly from: Expression; readonly to: Expression }
  | { readonly kind: 'array'; readonly at: number; readonly items: readonly Expression[] }
  | { readonly kind: 'object'; readonly at: number; readonly entries: readonly ObjectEntry[] }
  | { readonly kind: 'call'; readonly at: number; readonly name: string; readonly arguments: readonly Expression[] }
  | { readonly kind: 'subquery'; readonly at: number; readonly operations: readonly Operation[] }
  | InferExpression
  | EmbedExpression
  | RerankExpression;

export interface CollectOperation {
  readonly kind: 'collect';
  readonly at: number;
  readonly groups: readonly { readonly variable: string; readonly at: number; readonly expression: Expression }[];
  readonly aggregates: readonly {
    readonly variable: string;
    readonly at: number;
    readonly function: string;
    readonly arguments: readonly Expression[];
  }[];
  readonly into?: { readonly variable: string; readonly at: number; readonly projection?: Expression; readonly keep?: readonly string[] };
  readonly count?: { readonly variable: string; readonly at: number };
  readonly options?: Expression;
}

export interface ModificationOperation {
  readonly kind: 'modification';
  readonly at: number;
  readonly operation: 'insert' | 'update' | 'replace' | 'remove';
  /** The document (or key) that names what is changed; absent for INSERT. */
  readonly key?: Expression;
  /** What is written; absent for REMOVE, and for UPDATE and REPLACE without WITH (whenTrue `key` is also the patch). */
  readonly document?: Expression;
  readonly collection: Expression;
  readonly options?: Expression;
}

/** `LLM ADAPTER LIST | LOAD | UNLOAD`, a query by itself. */
export interface AdapterOperation {
  readonly kind: 'adapter';
  readonly at: number;
  readonly action: 'list' | 'load' | 'unload';
  /** The path of the file to load, or the name of the adapter to unload. */
  readonly subject?: Expression;
  readonly domain?: Expression;
  readonly shard?: Expression;
  readonly options?: Expression;
}

/** `LLM EMBED model FOR d IN collection FROM text INTO attribute`, a query by itself. */
export interface EmbedRowsOperation {
  readonly kind: 'embedRows';
  readonly at: number;
  readonly model: Expression;
  readonly variable: string;
  readonly variableAt: number;
  readonly collection: Expression;
  /** The text of a row. */
  readonly source: Expression;
  /** A literal or a bind parameter. */
  readonly into: Expression;
  readonly options?: Expression;
}

export type Operation =
  | {
      readonly kind: 'for';
      readonly at: number;
      readonly variable: string;
      readonly variableAt: number;
      readonly source: Expression;
      readonly options?: Expression;
    }
  | { readonly kind: 'let'; readonly at: number; readonly variable: string; readonly variableAt: number; readonly value: Expression }
  | { readonly kind: 'filter'; readonly at: number; readonly condition: Expression }
  | {
      readonly kind: 'sort';
      readonly at: number;
      readonly keys: readonly { readonly expression: Expression; readonly direction: 'ASC' | 'DESC' | Expression }[];
    }
  /** `count` is a literal null in `LIMIT o, null`: no bound. */
  | { readonly kind: 'limit'; readonly at: number; readonly offset?: Expression; readonly count: Expression }
  | CollectOperation
  | ModificationOperation
  | AdapterOperation
  | EmbedRowsOperation
  | { readonly kind: 'return'; readonly at: number; readonly distinct: boolean; readonly value: Expression };

export interface Ast {
  readonly text: string;
  readonly operations: readonly Operation[];
  /** Names of the bind parameters in order of appearance, each once; collection parameters with their leading `@`. */
  readonly bindParameters: readonly string[];
  /** Collections of a leading WITH. */
  readonly withCollections: readonly Expression[];
}
