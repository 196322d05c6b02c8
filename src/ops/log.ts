/** The program's log: JSON lines for machines, readable lines on a terminal; never a secret, never message content. */
import { createRequire } from "node:module";
import { type Logger, pino } from "pino";

export type Log = Logger;

export type LogOptions = { level: string; pretty: boolean };

/** Paths that hold secrets in anything that might be logged by accident. */
const redacted = [
  "authorization",
  "*.authorization",
  "headers.authorization",
  "password",
  "*.password",
  "secret",
  "*.secret",
  "apiKey",
  "*.apiKey",
  "databaseUrl",
  "*.databaseUrl",
];

export function createLog(options: LogOptions): Log {
  const base = {
    level: options.level,
    base: null,
    redact: { paths: redacted, censor: "[hidden]" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (!options.pretty) return pino(base, pino.destination({ fd: 1, sync: true }));
  // Only people at a terminal need it: a service does not load it.
  const pretty = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  return pino(
    base,
    pretty({ colorize: !process.env.NO_COLOR, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname", sync: true }),
  );
}

/** A log that says nothing, for short-lived commands that print their own words. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
