/** A tensor type of ggml: values are stored in blocks. */
export interface GgmlType {
  readonly name: string;
  readonly valuesPerBlock: number;
  readonly bytesPerBlock: number;
}

const type = (name: string, valuesPerBlock: number, bytesPerBlock: number): GgmlType => ({ name, valuesPerBlock, bytesPerBlock });

/** Tensor types of the pinned llama.cpp by their number; a test compares them with the library. Numbers that are not here are refused. */
export const ggmlTypes: ReadonlyMap<number, GgmlType> = new Map([
  [0, type('f32', 1, 4)],
  [1, type('f16', 1, 2)],
  [2, type('q4_0', 32, 18)],
  [3, type('q4_1', 32, 20)],
  [6, type('q5_0', 32, 22)],
  [7, type('q5_1', 32, 24)],
  [8, type('q8_0', 32, 34)],
  [9, type('q8_1', 32, 36)],
  [10, type('q2_K', 256, 84)],
  [11, type('q3_K', 256, 110)],
  [12, type('q4_K', 256, 144)],
  [13, type('q5_K', 256, 176)],
  [14, type('q6_K', 256, 210)],
  [15, type('q8_K', 256, 292)],
  [16, type('iq2_xxs', 256, 66)],
  [17, type('iq2_xs', 256, 74)],
  [18, type('iq3_xxs', 256, 98)],
  [19, type('iq1_s', 256, 50)],
  [20, type('iq4_nl', 32, 18)],
  [21, type('iq3_s', 256, 110)],
  [22, type('iq2_s', 256, 82)],
  [23, type('iq4_xs', 256, 136)],
  [24, type('i8', 1, 1)],
  [25, type('i16', 1, 2)],
  [26, type('i32', 1, 4)],
  [27, type('i64', 1, 8)],
  [28, type('f64', 1, 8)],
  [29, type('iq1_m', 256, 56)],
  [30, type('bf16', 1, 2)],
  [34, type('tq1_0', 256, 54)],
  [35, type('tq2_0', 256, 66)],
  [39, type('mxfp4', 32, 17)],
  [40, type('nvfp4', 64, 36)],
  [41, type('q1_0', 128, 18)],
  [42, type('q2_0', 64, 18)],
]);
