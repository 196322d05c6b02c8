/** The addresses that send in the name of a domain as a table. A row opens the details of its address. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Title, UnstyledButton } from "@mantine/core";
import { useId, useState } from "react";
import type { Domain } from "../../../src/gen/v1/domain_pb.ts";
import { type DmarcSource, ReportService } from "../../../src/gen/v1/report_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Mark } from "../parts/outcome.tsx";
import { Fact, Facts } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { formatCount, formatRate } from "../stats/scale.ts";
import { Day } from "./day.tsx";
import { dayName, type Range, type ReportSearch, requestOf, spanOf } from "./range.ts";
import { adviceOf, alignedRate, sourceLabel, sourceName, treatmentText } from "./sources.ts";

type Props = { domain: Domain; range: Range; search: ReportSearch; onChange(part: ReportSearch): void };

export function SourceList({ domain, range, search, onChange }: Props) {
  const id = useId();
  const isFailing = search.show === "failing";
  const day = search.day === undefined ? undefined : spanOf(search.day);
  const query = useInfiniteQuery(
    ReportService.method.listDmarcSources,
    {
      domainId: domain.id,
      ...(day ?? requestOf(range, Date.now())),
      unalignedOnly: isFailing,
      pageSize: 20,
      pageToken: "",
    },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const sources = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <div className="report-list">
      <div className="head">
        <Title order={3} id={id}>
          Sources
        </Title>
        <fieldset className="chips plain">
          <legend className="hidden">Filter sources</legend>
          <UnstyledButton className="chip" aria-pressed={!isFailing} onClick={() => onChange({ show: undefined })}>
            All
          </UnstyledButton>
          <UnstyledButton className="chip" aria-pressed={isFailing} onClick={() => onChange({ show: "failing" })}>
            Only failing
          </UnstyledButton>
          {day && (
            <UnstyledButton className="chip" aria-pressed onClick={() => onChange({ day: undefined })}>
              {dayName(day.from, Date.now())} <span aria-hidden="true">×</span>
              <span className="hidden">Show all days</span>
            </UnstyledButton>
          )}
        </fieldset>
      </div>
      {query.isPending && <Loading what="the sources" rows={4} height={40} />}
      {query.error && (
        <ProblemAlert
          error={query.error}
          onRetry={() => void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch())}
        />
      )}
      {query.data && sources.length === 0 && (
        <p className="report-note" role="status">
          {isFailing ? "No source sent mail that failed DMARC" : "No mail was reported"}{" "}
          {day ? `on ${dayName(day.from, Date.now())}` : `in the ${range.words}`}.
        </p>
      )}
      {sources.length > 0 && (
        <table className="table sources" aria-labelledby={id}>
          <thead>
            <tr>
              <th scope="col">Source</th>
              <th scope="col">Result</th>
              <th scope="col" className="end">
                Messages
              </th>
              <th scope="col" className="end">
                Aligned
              </th>
              <th scope="col">DKIM and SPF domains</th>
              <th scope="col">Receivers</th>
              <th scope="col">First seen</th>
              <th scope="col">Last seen</th>
            </tr>
          </thead>
          {sources.map((source) => (
            <SourceRows key={source.ip} source={source} domain={domain} />
          ))}
        </table>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          style={{ alignSelf: "center" }}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more sources
        </Button>
      )}
    </div>
  );
}

function SourceRows({ source, domain }: { source: DmarcSource; domain: Domain }) {
  const [isOpen, setIsOpen] = useState(false);
  const id = useId();
  const { ip, host, own, counts, firstSeenAt, lastSeenAt } = source;
  if (!counts) return null;
  const { text, tone } = sourceLabel(counts);
  return (
    <tbody>
      <tr className="link">
        <th scope="row" className="wrap">
          <UnstyledButton
            className="opener"
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            onClick={() => setIsOpen(!isOpen)}
          >
            <bdi>{sourceName(source)}</bdi>
          </UnstyledButton>
          <span className="faint small under">
            {host !== "" && <span className="mono">{ip}</span>}
            {own && <span className="own">this service</span>}
          </span>
        </th>
        <td>
          <Mark tone={tone}>{text}</Mark>
        </td>
        <td className="end" data-name="Messages">
          {formatCount(counts.messages)}
        </td>
        <td className="end" data-name="Aligned">
          {formatRate(alignedRate(counts))}
        </td>
        <td className="small wrap domains-used">
          <Domains name="DKIM" of={source.dkimDomains} />
          <Domains name="SPF" of={source.spfDomains} />
        </td>
        <td className="small">{treatmentText(counts)}</td>
        <td className="small faint" data-name="First seen">
          {firstSeenAt && <Day at={firstSeenAt} />}
        </td>
        <td className="small faint" data-name="Last seen">
          {lastSeenAt && <Day at={lastSeenAt} />}
        </td>
      </tr>
      {isOpen && (
        <tr className="details" id={id}>
          <td colSpan={8}>
            <p>{adviceOf(source, domain.domain)}</p>
            <Details source={source} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Domains({ name, of }: { name: string; of: readonly string[] }) {
  const [first, ...others] = of;
  if (first === undefined) return null;
  return (
    <span className="domains-of">
      <span className="faint">{name}</span> <bdi>{first}</bdi>
      {others.length > 0 && <span className="faint"> +{others.length}</span>}
    </span>
  );
}

function Details({ source }: { source: DmarcSource }) {
  const { counts, ip } = source;
  return (
    <Facts>
      <Fact name="Address">{ip !== "" && <Copyable value={ip} name={`the address ${ip}`} />}</Fact>
      <Fact name="Domains in From">{source.headerFrom.join(", ")}</Fact>
      <Fact name="Signed with DKIM by">{source.dkimDomains.join(", ") || "no domain"}</Fact>
      <Fact name="SPF (MAIL FROM)">{source.spfDomains.join(", ") || "no domain"}</Fact>
      <Fact name="Aligned by DKIM">{counts && formatCount(counts.dkimAligned)}</Fact>
      <Fact name="Aligned by SPF">{counts && formatCount(counts.spfAligned)}</Fact>
      <Fact name="Reported by">{source.reporters.join(", ")}</Fact>
      <Fact name="Receivers made exceptions">
        {source.overrides.map((reason) => reason.replaceAll("_", " ")).join(", ")}
      </Fact>
    </Facts>
  );
}
