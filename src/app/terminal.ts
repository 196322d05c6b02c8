/** Colours, on a terminal only and never against NO_COLOR. Used by commands that print for people. */
import { styleText } from "node:util";

export type Tone = "green" | "yellow" | "red" | "cyan" | "gray" | "bold";

export function colour(tone: Tone, words: string): string {
  return styleText(tone, words, { stream: process.stdout, validateStream: true });
}
