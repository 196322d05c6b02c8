/** The list of sending domains, with a dialog to add one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Mark } from "../parts/outcome.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { AddDomain } from "./add-domain.tsx";
import "./domains.css";
import { domainLabel } from "./labels.ts";
import { countRecords, recordsOf } from "./record-text.ts";
import { zoneOf } from "./summary.ts";

const pageSize = 50;

export function DomainsPage() {
  const [isAdding, adding] = useDisclosure(false);
  const navigate = useNavigate();
  const query = useInfiniteQuery(
    DomainService.method.listDomains,
    { page: 1, pageSize },
    {
      pageParamKey: "page",
      getNextPageParam: ({ total }, pages) => (pages.length * pageSize < total ? pages.length + 1 : undefined),
      refetchInterval: 15_000,
    },
  );
  const domains = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Page
      title="Domains"
      badge={<Fresh query={query} live />}
      intro="You can send from domains whose DNS you control. Publish the DNS records of each domain; Posthorn checks them regularly."
      actions={
        <WriteOnly>
          <Button onClick={adding.open}>Add domain</Button>
        </WriteOnly>
      }
    >
      {query.isPending && <Loading what="the domains" rows={5} height={40} />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {domains.length > 0 && <DomainTable domains={domains} />}
      {query.data && domains.length === 0 && (
        <Empty
          action={
            <WriteOnly>
              <Button onClick={adding.open}>Add your first domain</Button>
            </WriteOnly>
          }
        >
          No domains yet. Add your first domain to get the DNS records that it needs.
        </Empty>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          style={{ alignSelf: "center" }}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      )}
      <AddDomain
        isOpen={isAdding}
        onClose={adding.close}
        onAdded={({ id }) => void navigate({ to: "/domains/$id", params: { id } })}
      />
    </Page>
  );
}

function DomainTable({ domains }: { domains: readonly Domain[] }) {
  return (
    <div className="card">
      <table className="table domains" aria-label="Domains, newest first">
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Domain</th>
            <th scope="col" className="wide-only">
              Zone
            </th>
            <th scope="col" className="wide-only">
              Sending
            </th>
            <th scope="col" className="wide-only">
              Receiving
            </th>
            <th scope="col">Records</th>
            <th scope="col" className="wide-only end">
              Checked
            </th>
          </tr>
        </thead>
        <tbody>
          {domains.map((domain) => (
            <DomainRow key={domain.id} domain={domain} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DomainRow({ domain }: { domain: Domain }) {
  const { summary } = domain;
  const { text, tone, meaning } = domainLabel(domain.status);
  const { found, total } = countRecords(recordsOf(domain).map(({ record }) => record));
  return (
    <tr className="link">
      <td>
        <Mark tone={tone} title={meaning}>
          {text}
        </Mark>
      </td>
      <td className="key wrap">
        <Link to="/domains/$id" params={{ id: domain.id }}>
          {domain.domain}
        </Link>
      </td>
      <td className="wide-only faint">
        {zoneOf(domain)}
        {domain.provider && ` at ${domain.provider.name}`}
      </td>
      <td className="wide-only">{summary?.canSend ? "Yes" : <span className="faint">Not yet</span>}</td>
      <td className="wide-only">{summary?.canReceive ? "Yes" : <span className="faint">No</span>}</td>
      <td className="num">
        {found} of {total}
      </td>
      <td className="wide-only end faint">{domain.lastCheckedAt ? <Time at={domain.lastCheckedAt} /> : "not yet"}</td>
    </tr>
  );
}
