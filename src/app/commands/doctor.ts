/** posthorn doctor: checks everything that mail depends on and prints one line per finding, with a fix for each problem. */
import type { Command } from "../command.ts";
import { type Config, ConfigError } from "../config.ts";
import { type Finding, line, summary } from "./doctor/finding.ts";
import { receiverChecks, secretChecks, signUpChecks } from "./doctor/instance.ts";
import { clockCheck, databaseChecks, diskChecks } from "./doctor/machine.ts";
import { certificateChecks, delegationChecks, outboundCheck, ptrChecks } from "./doctor/network.ts";
import { portChecks } from "./doctor/ports.ts";
import { providerChecks } from "./doctor/providers.ts";
import { settingsChecks } from "./doctor/settings.ts";

export const doctor: Command = {
  name: "doctor",
  summary:
    "Check settings, ports, database, secret, disk, sign-in, clock, DNS, PTR, TLS, outbound SMTP and receivers; exit code 1 if a check fails.",
  options: {
    probe: {
      type: "string",
      help: "domain whose mail server is contacted to test outbound port 25",
      value: "gmail.com",
    },
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config: read }) {
    const findings: Finding[] = [];
    const report = (found: readonly Finding[]) => {
      findings.push(...found);
      for (const one of found) process.stdout.write(options.json ? `${JSON.stringify(one)}\n` : line(one));
    };
    const config = readOr(read, (problems) =>
      report(
        problems.map((found) => ({ check: "settings", result: "fail", found, fix: "See: posthorn start --help" })),
      ),
    );
    if (config) {
      const probe = String(options.probe ?? "gmail.com");
      const checks: [name: string, run: () => Promise<Finding[]>][] = [
        ["settings", async () => settingsChecks(config)],
        ["disk", () => diskChecks(config)],
        ["database", () => databaseChecks(config)],
        ["secret", () => secretChecks(config)],
        ["sign-up", () => signUpChecks(config)],
        ["sign-in", () => providerChecks(config)],
        ["clock", () => clockCheck()],
        ["ports", () => portChecks(config)],
        ["TLS", async () => certificateChecks(config, Date.now())],
        ["zone", () => delegationChecks(config)],
        ["PTR", () => ptrChecks(config)],
        ["outbound", () => outboundCheck(config, probe)],
        ["receivers", () => receiverChecks(config)],
      ];
      for (const [check, run] of checks) report(await run().catch((error: Error) => [failedCheck(check, error)]));
    }
    if (!options.json) process.stdout.write(`\n${summary(findings)}\n`);
    if (findings.some(({ result }) => result === "fail")) process.exitCode = 1;
  },
};

function readOr(read: () => Config, onMistakes: (problems: string[]) => void): Config | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    onMistakes(error.problems);
    return undefined;
  }
}

/** A check that could not run, such as the database's while the server is down. */
function failedCheck(check: string, error: Error): Finding {
  return {
    check,
    result: "fail",
    found: error.message.split("\n")[0]!,
    fix: "Fix the error above, then run posthorn doctor again.",
  };
}
