/** The question before a command deletes something. */
import { createInterface } from "node:readline";
import { Problem } from "../../ops/problem.ts";
import { type Option, UsageError } from "../command.ts";
import { plain } from "../output.ts";

export const yesOption: Option = { type: "boolean", help: "do not ask; required without a terminal" };

type Confirmed = {
  options: Record<string, string | boolean | undefined>;
  /** Without a terminal the command runs anyway: it did so before it asked. */
  scriptsNeedNoYes?: boolean;
};

/** Returns if the person at the terminal agrees, or if --yes is given. Ask before opening a connection: an answer may take hours. */
export async function confirm(sentence: string, { options, scriptsNeedNoYes = false }: Confirmed): Promise<void> {
  if (options.yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    if (scriptsNeedNoYes) return;
    throw new UsageError(`${plain(sentence)} Repeat the command with --yes.`);
  }
  if (!(await ask(`${plain(sentence)} Continue? [y/N] `))) throw new Problem("canceled", "Nothing was changed.");
}

/** `terminal: false` leaves Ctrl-C to the terminal, which ends the command. The end of input means no. */
async function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    return await new Promise((resolve) => {
      lines.once("close", () => resolve(false));
      lines.question(question, (answer) => resolve(/^y(es)?$/i.test(answer.trim())));
    });
  } finally {
    lines.close();
  }
}
