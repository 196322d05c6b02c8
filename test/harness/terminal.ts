/** Runs the program in a pseudo-terminal. */
import { spawnSync } from "node:child_process";
import { needs, pathOf } from "./foreign.ts";
import { type Started, type StartOptions, startAs } from "./started.ts";

/** Uses `script` of util-linux; on other systems the program of this name has different options. */
export const withoutTerminal =
  process.platform === "linux" ? needs("script") || withoutPseudoTerminal() : "needs script of util-linux";

function withoutPseudoTerminal(): string | false {
  const { status, stderr } = spawnSync(pathOf("script"), ["--quiet", "--return", "--command", "true", "/dev/null"]);
  return status === 0 ? false : `script cannot open a pseudo-terminal here: ${stderr.toString().trim()}`;
}

/**
 * Bytes written to standard input are typed in the terminal; byte 3 is Ctrl-C. `exec` replaces the shell that script starts,
 * because some shells would wait for the command and die of the same Ctrl-C.
 */
export async function startInTerminal(command: string, options: StartOptions = {}): Promise<Started> {
  return await startAs(pathOf("script"), ["--quiet", "--return", "--command", `exec ${command}`, "/dev/null"], options);
}

export const ctrlC = "\u0003";
