/** posthorn doctor: checks everything that mail depends on and prints one line per finding, with a fix for each problem. */
import type { Command } from "../command.ts";
import { type Config, ConfigError } from "../config.ts";
import { daneChecks } from "./doctor/dane.ts";
import { dkimChecks } from "./doctor/dkim.ts";
import { dmarcChecks } from "./doctor/dmarc.ts";
import { type Finding, line, summary } from "./doctor/finding.ts";
import { receiverChecks, secretChecks, signUpChecks, wordingChecks } from "./doctor/instance.ts";
import { clockCheck, databaseChecks, diskChecks } from "./doctor/machine.ts";
import { certificateChecks, delegationChecks, outboundCheck, ptrChecks } from "./doctor/network.ts";
import { portChecks } from "./doctor/ports.ts";
import { providerChecks } from "./doctor/providers.ts";
import { reportChecks } from "./doctor/reports.ts";
import { checkSending, requireSend, sendOptions } from "./doctor/send.ts";
import { settingsChecks } from "./doctor/settings.ts";
import { spamFilterCheck } from "./doctor/spam-filter.ts";
import { unsubscribeChecks } from "./doctor/unsubscribe.ts";

const dnssecNames = { "dnssec-signed": ".", "dnssec-bogus": "dnssec-failed.org" } as const;

export const doctor: Command = {
  name: "doctor",
  summary:
    "Check settings, ports, database, secret, disk, sign-in, clock, DNS, PTR, TLS, outbound SMTP, DANE, unsubscribe links, DKIM keys, DMARC policies, reports and receivers; exit code 1 if a check fails.",
  options: {
    probe: {
      type: "string",
      help: "domain whose mail server is contacted to test outbound port 25",
      value: "gmail.com",
    },
    "dnssec-signed": {
      type: "string",
      help: "a name that the resolvers in POSTHORN_DANE_RESOLVER must validate; the default is the root of the DNS",
      value: dnssecNames["dnssec-signed"],
    },
    "dnssec-bogus": {
      type: "string",
      help: "a name with invalid signatures, which these resolvers must refuse",
      value: dnssecNames["dnssec-bogus"],
    },
    json: { type: "boolean", help: "one JSON object per line" },
    ...sendOptions,
  },
  async run(input) {
    const { options, config: read } = input;
    if (options.send) return await checkSending(input);
    requireSend(options);
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
      const nameOf = (option: "dnssec-signed" | "dnssec-bogus") => String(options[option] ?? dnssecNames[option]);
      const checks: [name: string, run: () => Promise<Finding[]>][] = [
        ["settings", async () => settingsChecks(config)],
        ["disk", () => diskChecks(config)],
        ["database", () => databaseChecks(config)],
        ["secret", () => secretChecks(config)],
        ["DKIM", () => dkimChecks(config)],
        ["DMARC", () => dmarcChecks(config)],
        ["sign-up", () => signUpChecks(config)],
        ["sign-in", () => providerChecks(config)],
        ["clock", () => clockCheck()],
        ["ports", () => portChecks(config)],
        ["TLS", async () => certificateChecks(config, Date.now())],
        ["zone", () => delegationChecks(config)],
        ["reports", () => reportChecks(config)],
        ["PTR", () => ptrChecks(config)],
        ["outbound", () => outboundCheck(config, probe)],
        ["DANE", () => daneChecks(config, { signed: nameOf("dnssec-signed"), bogus: nameOf("dnssec-bogus") })],
        ["one-click", () => unsubscribeChecks(config)],
        ["receivers", () => receiverChecks(config)],
        ["wordings", () => wordingChecks(config)],
        ["filter", () => spamFilterCheck(config)],
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
