/** The results of SPF, DKIM and DMARC for an inbound message, as badges. */
import { Badge, Group } from "@mantine/core";
import { Verdict, type Verdicts } from "../../../src/gen/v1/event_pb.ts";
import { enumName } from "../parts/enum-name.ts";

export function VerdictBadges({ verdicts }: { verdicts: Verdicts | undefined }) {
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
          {name} {verdictText(verdict)}
        </Badge>
      ))}
    </Group>
  );
}

function verdictText(verdict: Verdict): string {
  return verdict === Verdict.UNSPECIFIED ? "not checked" : enumName(Verdict, verdict);
}

function colorOf(verdict: Verdict): string {
  if (verdict === Verdict.PASS) return "green";
  return verdict === Verdict.FAIL || verdict === Verdict.SOFTFAIL ? "red" : "gray";
}
