/** Why a file is no GGUF file that can be loaded; its reader makes the error of its caller from it. Never leaves this folder. */
export class GgufFault extends Error {}
