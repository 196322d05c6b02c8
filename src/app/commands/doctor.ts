/** posthorn doctor: checks everything that mail depends on and prints one line per finding, with a fix for each problem. */
import type { Command } from "../command.ts";
import { type Config, ConfigError } from "../config.ts";
import { blocklistChecks } from "./doctor/blocklists.ts";
import { daneChecks } from "./doctor/dane.ts";
import { dkimChecks } from "./doctor/dkim.ts";
import { dmarcChecks } from "./doctor/dmarc.ts";
import { type Finding, line, summary } from "./doctor/finding.ts";
import { receiverChecks, secretChecks, signUpChecks, wordingChecks } from "./doctor/instance.ts";
import { clockCheck, databaseChecks, diskChecks } from "./doctor/machine.ts";
import { certificateChecks, delegationChecks, outboundCheck, ptrChecks } from "./doctor/network.ts";
import { objectStorageChecks } from "./doctor/object-storage.ts";
import { portChecks } from "./doctor/ports.ts";
import { passwordChecks, providerChecks } from "./doctor/providers.ts";
import { reportChecks } from "./doctor/reports.ts";
import { checkSending, requireSend, sendOptions } from "./doctor/send.ts";
import { settingsChecks } from "./doctor/settings.ts";
import { spamFilterCheck } from "./doctor/spam-filter.ts";
import { unsubscribeChecks } from "./doctor/unsubscribe.ts";

const dnssecNames = { "dnssec-signed": ".", "dnssec-bogus": "dnssec-failed.org" } as const;

export const doctor: Command = {
  name: "doctor",
  summary:
    "Check settings, ports, database, object storage, secret, disk, sign-in, clock, DNS, PTR, TLS, outbound SMTP, DANE, unsubscribe links, DKIM keys, DMARC policies, reports, receivers, blocklists and the spam filter; exit code 1 if a check fails.",
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
      const checks: Check[] = [
        { name: "settings", run: async () => settingsChecks(config) },
        { name: "disk", run: () => diskChecks(config) },
        { name: "database", run: () => databaseChecks(config) },
        { name: "objects", run: () => objectStorageChecks(config), readsStore: true },
        { name: "secret", run: () => secretChecks(config), readsStore: true },
        { name: "DKIM", run: () => dkimChecks(config), readsStore: true },
        { name: "DMARC", run: () => dmarcChecks(config), readsStore: true },
        { name: "sign-up", run: () => signUpChecks(config), readsStore: true },
        { name: "sign-in", run: () => providerChecks(config) },
        { name: "passwords", run: () => passwordChecks(config), readsStore: true },
        { name: "clock", run: () => clockCheck() },
        { name: "ports", run: () => portChecks(config) },
        { name: "TLS", run: async () => certificateChecks(config, Date.now()) },
        { name: "zone", run: () => delegationChecks(config) },
        { name: "reports", run: () => reportChecks(config), readsStore: true },
        { name: "PTR", run: () => ptrChecks(config) },
        { name: "outbound", run: () => outboundCheck(config, probe) },
        {
          name: "DANE",
          run: () => daneChecks(config, { signed: nameOf("dnssec-signed"), bogus: nameOf("dnssec-bogus") }),
        },
        { name: "one-click", run: () => unsubscribeChecks(config) },
        { name: "receivers", run: () => receiverChecks(config), readsStore: true },
        { name: "wordings", run: () => wordingChecks(config), readsStore: true },
        { name: "blocklists", run: () => blocklistChecks(config) },
        { name: "filter", run: () => spamFilterCheck(config) },
      ];
      const skipped: string[] = [];
      for (const { name, run, readsStore } of checks) {
        // Each of these would wait for the database once more.
        if (readsStore && findings.some(({ check, result }) => check === "database" && result === "fail"))
          skipped.push(name);
        else report(await run().catch((error: Error) => [failedCheck(name, error)]));
      }
      if (skipped.length > 0) report([skippedChecks(skipped)]);
    }
    if (!options.json) process.stdout.write(`\n${summary(findings)}\n`);
    if (findings.some(({ result }) => result === "fail")) process.exitCode = 1;
  },
};

type Check = {
  name: string;
  run: () => Promise<Finding[]>;
  /** Left out when the check of the database has failed. */
  readsStore?: boolean;
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

function skippedChecks(names: readonly string[]): Finding {
  return {
    check: "skipped",
    result: "warn",
    found: `not checked, because they read the database: ${names.join(", ")}`,
    fix: "Fix the error of the database above, then run posthorn doctor again.",
  };
}
