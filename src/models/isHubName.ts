/** Whether a model is named on a hub. */
export function isHubName(name: string): boolean {
  return name.startsWith('hf:');
}
