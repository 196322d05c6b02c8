/** The program in a pseudo-terminal. */
import { spawnSync } from "node:child_process";
import { needs, pathOf } from "./foreign.ts";
import { type Started, type StartOptions, startAs } from "./started.ts";

/** util-linux's script runs a command in a pseudo-terminal; its namesake elsewhere has other options. */
export const withoutTerminal =
  process.platform === "linux" ? needs("script") || withoutPseudoTerminal() : "needs script of util-linux";

function withoutPseudoTerminal(): string | false {
  const { status, stderr } = spawnSync(pathOf("script"), ["--quiet", "--return", "--command", "true", "/dev/null"]);
  return status === 0 ? false : `script cannot open a pseudo-terminal here: ${stderr.toString().trim()}`;
}

/**
 * As at a terminal: what is written to its standard input is typed there, and byte 3 is Ctrl-C. `exec` replaces the
 * shell that script starts: some shells would wait for the command and die of the same Ctrl-C.
 */
export async function startInTerminal(command: string, options: StartOptions = {}): Promise<Started> {
  return await startAs(pathOf("script"), ["--quiet", "--return", "--command", `exec ${command}`, "/dev/null"], options);
}

export const ctrlC = "\u0003";
