/** `hf:owner/repository[/file.gguf][@revision]`, taken apart. */
export interface HubName {
  readonly owner: string;
  readonly repository: string;
  /** Path in the repository; undefined: its only GGUF file. */
  readonly file: string | undefined;
  readonly revision: string;
}
