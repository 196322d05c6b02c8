/** Reads a secret from the terminal without showing it. Used by posthorn profiles add. */
import { Problem } from "../../ops/problem.ts";

export async function readHidden(prompt: string): Promise<string> {
  const { stdin } = process;
  process.stderr.write(prompt);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  let typed = "";
  try {
    for await (const chunk of stdin as AsyncIterable<string>)
      for (const character of chunk) {
        if (character === "\r" || character === "\n" || character === "\u0004") return typed;
        // In raw mode, the terminal sends no signal for Ctrl-C.
        if (character === "\u0003") throw new Problem("canceled", "Nothing was changed.");
        typed = character === "\u007f" || character === "\b" ? typed.slice(0, -1) : typed + character;
      }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    process.stderr.write("\n");
  }
}
