/** Who an inbound message can be trusted to come from. */
import { Badge, Group } from "@mantine/core";
import { Verdict, type Verdicts } from "../../../src/gen/v1/event_pb.ts";
import { enumName } from "../parts/enum-name.ts";

export function VerdictMarks({ verdicts }: { verdicts: Verdicts | undefined }) {
  if (!verdicts) return null;
  const all: [name: string, verdict: Verdict, domain: string][] = [
    ["SPF", verdicts.spf, verdicts.spfDomain],
    ["DKIM", verdicts.dkim, verdicts.dkimDomain],
    ["DMARC", verdicts.dmarc, ""],
  ];
  return (
    <Group gap={6}>
      {all.map(([name, verdict, domain]) => (
        <Badge key={name} variant="light" color={colorOf(verdict)} title={domain || undefined}>
          {name} {wordOf(verdict)}
        </Badge>
      ))}
    </Group>
  );
}

function wordOf(verdict: Verdict): string {
  return verdict === Verdict.UNSPECIFIED ? "not checked" : enumName(Verdict, verdict);
}

function colorOf(verdict: Verdict): string {
  if (verdict === Verdict.PASS) return "green";
  return verdict === Verdict.FAIL || verdict === Verdict.SOFTFAIL ? "red" : "gray";
}
