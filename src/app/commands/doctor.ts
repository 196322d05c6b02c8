/** posthorn doctor: looks at everything that mail depends on, a line for each finding, with the fix where something is wrong. */
import { type Command, table } from "../command.ts";
import { type Config, ConfigError } from "../config.ts";
import { colour, type Tone } from "../terminal.ts";
import { clockCheck, databaseChecks, diskChecks } from "./doctor-machine.ts";
import { certificateChecks, delegationChecks, outboundCheck, ptrChecks } from "./doctor-network.ts";
import { portChecks } from "./doctor-ports.ts";
import { settingsChecks } from "./doctor-settings.ts";

export type Finding = {
  check: string;
  result: "ok" | "warn" | "fail";
  found: string;
  /** What to do; present where the result is not ok. */
  fix?: string;
};

export const doctor: Command = {
  name: "doctor",
  summary:
    "Check settings, ports, database, disk, clock, DNS, PTR, TLS and the way out; exit code 1 when something fails.",
  options: {
    probe: { type: "string", help: "a domain whose mail server is asked whether port 25 is open", value: "gmail.com" },
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config: read }) {
    const findings: Finding[] = [];
    const tell = (found: readonly Finding[]) => {
      findings.push(...found);
      for (const one of found) process.stdout.write(options.json ? `${JSON.stringify(one)}\n` : line(one));
    };
    const config = readOr(read, (problems) =>
      tell(problems.map((found) => ({ check: "settings", result: "fail", found, fix: "See: posthorn start --help" }))),
    );
    if (config) {
      const probe = String(options.probe ?? "gmail.com");
      const checks: [name: string, look: () => Promise<Finding[]>][] = [
        ["settings", async () => settingsChecks(config)],
        ["disk", () => diskChecks(config)],
        ["database", () => databaseChecks(config)],
        ["clock", () => clockCheck()],
        ["ports", () => portChecks(config)],
        ["TLS", async () => certificateChecks(config, Date.now())],
        ["zone", () => delegationChecks(config)],
        ["PTR", () => ptrChecks(config)],
        ["outbound", () => outboundCheck(config, probe)],
      ];
      for (const [check, look] of checks) tell(await look().catch((error: Error) => [broken(check, error)]));
    }
    if (!options.json) process.stdout.write(`\n${summary(findings)}\n`);
    if (findings.some(({ result }) => result === "fail")) process.exitCode = 1;
  },
};

const tones: Record<Finding["result"], Tone> = { ok: "green", warn: "yellow", fail: "red" };

function line({ check, result, found, fix }: Finding): string {
  const head = `${colour(tones[result], result.padEnd(4))}  ${table([[check.padEnd(9), found]], "")}`;
  return fix ? `${head}                 ${colour("gray", fix)}\n` : head;
}

function summary(findings: readonly Finding[]): string {
  const count = (result: Finding["result"]) => findings.filter((one) => one.result === result).length;
  const [failed, warned] = [count("fail"), count("warn")];
  if (failed > 0)
    return `${failed} of ${findings.length} checks failed${warned > 0 ? `, ${warned} with a warning` : ""}.`;
  return warned > 0 ? `Nothing failed, ${warned} with a warning.` : "All is well.";
}

function readOr(read: () => Config, tell: (problems: string[]) => void): Config | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tell(error.problems);
    return undefined;
  }
}

function broken(check: string, error: Error): Finding {
  return { check, result: "fail", found: error.message.split("\n")[0]!, fix: "The message says what to look at." };
}
