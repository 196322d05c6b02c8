/** What the figures of a run depend on. run.ts prints it above them. */
import { cpus, tmpdir } from "node:os";
import { prepareBinaries } from "../../src/postgres/embedded/binaries.ts";

export type Machine = { cpu: string; architecture: string; cores: number; node: string; postgres: string };

export async function readMachine(): Promise<Machine> {
  const { version } = await prepareBinaries(undefined, tmpdir());
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() || "unknown CPU",
    architecture: process.arch,
    cores: cores.length,
    node: process.versions.node,
    // The package adds a pre-release number of its own.
    postgres: version.replace(/^(\d+\.\d+).*/, "$1"),
  };
}

export function describeMachine({ cpu, architecture, cores, node, postgres }: Machine): string {
  const lines = [`${cores} × ${cpu} (${architecture}), Node ${node}, PostgreSQL ${postgres}`];
  if (architecture === "x64")
    lines.push(
      "x86: an RSA-2048 signature took 0.74 ms on a Xeon core of 2.5 GHz and 3.5 ms on a Neoverse-N1 (ARM); other work does not differ as much. " +
        "Do not compare ratios to the signing limit with those published for ARM.",
    );
  return `${lines.join("\n")}\n`;
}
