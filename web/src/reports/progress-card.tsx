/** How far a domain is from p=reject: the stages, the next safe step with its numbers, and the record to publish. */
import { Title } from "@mantine/core";
import { useId } from "react";
import type { Domain } from "../../../src/gen/v1/domain_pb.ts";
import type { DmarcProgress } from "../../../src/gen/v1/report_pb.ts";
import { Say } from "../parts/outcome.tsx";
import { formatCount, formatRate } from "../stats/scale.ts";
import { type Stage, stagesOf, stepHeadline } from "./progress.ts";
import { RecordToPublish } from "./record-to-publish.tsx";
import { alignedRate } from "./sources.ts";

export function Progress({ progress, domain }: { progress: DmarcProgress; domain: Domain }) {
  const id = useId();
  const { tone, title } = stepHeadline(progress.step);
  return (
    <section className="card report-part" aria-labelledby={id}>
      <div className="head">
        <Title order={2} id={id}>
          Protection by DMARC
        </Title>
        <span className="grow" />
        <span className="small faint">{basisText(progress)}</span>
      </div>
      <Stages stages={stagesOf(progress)} />
      <Say tone={tone} title={title}>
        {progress.message}
      </Say>
      {progress.recordName !== "" && (
        <RecordToPublish
          domain={domain}
          name={progress.recordName}
          value={progress.recordValue}
          purpose="the DMARC record"
        />
      )}
    </section>
  );
}

function Stages({ stages }: { stages: readonly Stage[] }) {
  return (
    <ol className="stages" aria-label="Stages to p=reject">
      {stages.map(({ policy, name, meaning, state }) => (
        <li key={policy} data-state={state} aria-current={state === "current" ? "step" : undefined}>
          <span className="stage-dot" aria-hidden="true">
            {state === "done" ? "✓" : ""}
          </span>
          <div>
            <strong>{name}</strong> <code className="mono">p={policy}</code>{" "}
            <span className="stage-state">{stateTexts[state]}</span>
            <p>{meaning}</p>
          </div>
        </li>
      ))}
    </ol>
  );
}

const stateTexts: Record<Stage["state"], string> = { done: "done", current: "now", next: "next", later: "" };

function basisText({ daysReported, recent }: DmarcProgress): string {
  if (!recent || recent.messages === 0) return "";
  const days = daysReported === 1 ? "1 day" : `${daysReported} days`;
  return `Last 30 days: ${formatCount(recent.messages)} messages on ${days}, ${formatRate(alignedRate(recent))} aligned`;
}
