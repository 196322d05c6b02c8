/** The results of SPF, DKIM, DMARC and ARC for an inbound message, as badges. */
import { Badge, Group } from "@mantine/core";
import { Verdict, type Verdicts } from "../../../src/gen/v1/event_pb.ts";
import { enumName } from "../parts/enum-name.ts";

export function VerdictBadges({ verdicts }: { verdicts: Verdicts | undefined }) {
  if (!verdicts) return null;
  const all: [name: string, verdict: Verdict, domain: string][] = [
    ["SPF", verdicts.spf, verdicts.spfDomain],
    ["DKIM", verdicts.dkim, verdicts.dkimDomain],
    ["DMARC", verdicts.dmarc, ""],
    ["ARC", verdicts.arc, verdicts.arcDomain],
  ];
  // Most messages are not forwarded, and messages of earlier versions were not checked for ARC.
  const shown = all.filter(
    ([name, verdict]) => name !== "ARC" || (verdict !== Verdict.NONE && verdict !== Verdict.UNSPECIFIED),
  );
  // Anyone can seal a message, so that a pass means nothing without the name of the forwarder, and is not green.
  return (
    <Group gap={6}>
      {shown.map(([name, verdict, domain]) => (
        <Badge
          key={name}
          variant="light"
          color={name === "ARC" && verdict === Verdict.PASS ? "gray" : colorOf(verdict)}
          title={domain || undefined}
        >
          {name} {verdictText(verdict)}
          {name === "ARC" && domain && ` (${domain})`}
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
