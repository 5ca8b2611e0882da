// 50,000 and 50000 are one number; then every run of other characters than letters and digits is a space.
const normalise = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKC')
    .replace(/(?<=\d)[,. ](?=\d)/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** Whether an output contains the expected answer, case, punctuation and spacing aside. */
export function isRightAnswer(output: string, answer: string): boolean {
  return normalise(output).includes(normalise(answer));
}
