/** Numbers of the types of metadata values. */
export const ggufTypes = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  text: 8,
  list: 9,
  u64: 10,
  i64: 11,
  f64: 12,
} as const;
