/** A finding of posthorn doctor, and how it is printed. */
import { color, type Tone, table } from "../../output.ts";

export type Finding = {
  check: string;
  result: "ok" | "warn" | "fail";
  found: string;
  /** What to do; present unless the result is ok. */
  fix?: string;
};

const tones: Record<Finding["result"], Tone> = { ok: "green", warn: "yellow", fail: "red" };

export function line({ check, result, found, fix }: Finding): string {
  const head = `${color(tones[result], result.padEnd(4))}  ${table([[check.padEnd(9), found]], "")}`;
  return fix ? `${head}                 ${color("gray", fix)}\n` : head;
}

export function summary(findings: readonly Finding[]): string {
  const count = (result: Finding["result"]) => findings.filter((one) => one.result === result).length;
  const [failed, warned] = [count("fail"), count("warn")];
  const warnings = warned === 0 ? "" : `, ${warned} ${warned === 1 ? "warning" : "warnings"}`;
  if (failed > 0) return `${failed} of ${findings.length} checks failed${warnings}.`;
  return warned > 0 ? `No check failed${warnings}.` : `All ${findings.length} checks passed.`;
}
