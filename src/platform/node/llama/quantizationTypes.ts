/** A file type that llama.cpp quantises to without a matrix of importance, by the name that users give it. */
export interface QuantizationType {
  /** llama.cpp's number of the file type. */
  readonly fileType: number;
  /** Of a weight, about. */
  readonly bits: number;
}

export const quantizationTypes: { readonly [name: string]: QuantizationType } = {
  f32: { fileType: 0, bits: 32 },
  f16: { fileType: 1, bits: 16 },
  bf16: { fileType: 32, bits: 16 },
  q8_0: { fileType: 7, bits: 8.5 },
  q6_k: { fileType: 18, bits: 6.6 },
  q5_1: { fileType: 9, bits: 6 },
  q5_0: { fileType: 8, bits: 5.5 },
  q5_k_m: { fileType: 17, bits: 5.7 },
  q5_k_s: { fileType: 16, bits: 5.5 },
  q4_1: { fileType: 3, bits: 5 },
  q4_0: { fileType: 2, bits: 4.5 },
  q4_k_m: { fileType: 15, bits: 4.9 },
  q4_k_s: { fileType: 14, bits: 4.6 },
  q3_k_m: { fileType: 12, bits: 3.9 },
  q3_k_s: { fileType: 11, bits: 3.5 },
  q2_k: { fileType: 10, bits: 3 },
};
