/** The result of a pre-flight: the summary, the checks by receiver with their fixes, and the rules of the spam filter. */
import { Anchor, Tabs, Text } from "@mantine/core";
import { useState } from "react";
import {
  type CheckDeliverabilityResponse,
  type DeliverabilityCheck,
  type DeliverabilityRecord,
  DeliverabilityResult,
  type SpamScore,
} from "../../../src/gen/v1/deliverability_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Mark, Say } from "../parts/outcome.tsx";
import { Fact, Facts, Section } from "../parts/page.tsx";
import { checksFor, countOpen, demandTexts, receivers, resultLabel } from "./checklist.ts";
import "./deliverability.css";

const titles: Partial<Record<DeliverabilityResult, string>> = {
  [DeliverabilityResult.PASS]: "Every demand that was checked is met.",
  [DeliverabilityResult.WARN]: "Not all recommendations are met.",
  [DeliverabilityResult.FAIL]: "Receivers may refuse this mail.",
  [DeliverabilityResult.UNKNOWN]: "Not everything could be checked.",
};

const all = "all";

export function CheckResult({ result }: { result: CheckDeliverabilityResponse }) {
  const [tab, setTab] = useState<string | null>(all);
  const tabs = [
    { value: all, name: "All checks", receiver: undefined },
    ...receivers.map(({ receiver, name }) => ({ value: name, name, receiver })),
  ];
  const { sample, spam } = result;
  return (
    <div className="check-result">
      <Say tone={resultLabel(result.result).tone} title={titles[result.result] ?? "Not everything could be checked."}>
        {result.summary}
      </Say>
      <Tabs value={tab} onChange={setTab} keepMounted={false}>
        <Tabs.List aria-label="Receiver">
          {tabs.map(({ value, name, receiver }) => (
            <Tabs.Tab key={value} value={value}>
              {name}
              <OpenCount open={countOpen(result.checks, receiver)} />
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ value, name, receiver }) => (
          <Tabs.Panel key={value} value={value}>
            <Checks checks={checksFor(result.checks, receiver)} label={`${name} and their results`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      {sample && (
        <Section title="Sample">
          <Facts>
            <Fact name="Content">{sample.isOwn ? "none of yours: a plain email of Posthorn" : "yours"}</Fact>
            <Fact name="Size">{sample.sizeBytes > 0 && `${sample.sizeBytes.toLocaleString("en")} bytes`}</Fact>
            <Fact name="Return path">{sample.returnPathDomain}</Fact>
            <Fact name="Signed with">{sample.signedWith}</Fact>
          </Facts>
        </Section>
      )}
      {spam && <SpamRules spam={spam} />}
    </div>
  );
}

function OpenCount({ open }: { open: number }) {
  if (open === 0) return null;
  return (
    <span className="open-count">
      {open}
      <span className="hidden"> not met</span>
    </span>
  );
}

function Checks({ checks, label }: { checks: readonly DeliverabilityCheck[]; label: string }) {
  return (
    <div className="card">
      <table className="table checks" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Result</th>
            <th scope="col">Check</th>
            <th scope="col">Found, and what to do</th>
          </tr>
        </thead>
        <tbody>
          {checks.map((check) => (
            <CheckRow key={check.id} check={check} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CheckRow({ check }: { check: DeliverabilityCheck }) {
  const { text, tone } = resultLabel(check.result);
  return (
    <tr>
      <td>
        <Mark tone={tone}>{text}</Mark>
      </td>
      <td>
        <span className="check-title">{check.title}</span>
        <span className="demands small">
          {demandTexts(check.demands).map(({ name, text: says, url }) => (
            <Anchor key={name} href={url} target="_blank" rel="noreferrer" title={`${says} (opens its page)`} inherit>
              {name}
            </Anchor>
          ))}
        </span>
      </td>
      <td className="wrap">
        {check.found}
        {check.fix !== "" && <p className="fix">{check.fix}</p>}
        {check.records.map((record) => (
          <RecordLine key={`${record.type} ${record.name} ${record.value}`} record={record} title={check.title} />
        ))}
      </td>
    </tr>
  );
}

function RecordLine({ record: { type, name, value }, title }: { record: DeliverabilityRecord; title: string }) {
  return (
    <span className="record-line">
      <span className="mono small">{type}</span>
      <Copyable value={name} name={`the name of the ${type} record for ${title}`} />
      <Copyable value={value} name={`the value of the ${type} record for ${title} at ${name}`} />
    </span>
  );
}

function SpamRules({ spam }: { spam: SpamScore }) {
  return (
    <Section title={`Score of ${spam.filter}`}>
      <Text>
        {spam.score} of {spam.threshold} points.
      </Text>
      <table className="table spam-rules" aria-label={`Rules of ${spam.filter} that matched`}>
        <thead>
          <tr>
            <th scope="col" className="end">
              Points
            </th>
            <th scope="col">Rule</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {spam.rules.map(({ name, score, description }) => (
            <tr key={name}>
              <td className="end">{score}</td>
              <td className="mono wrap">{name}</td>
              <td className="wrap">{description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
