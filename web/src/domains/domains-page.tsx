/** The list of sending domains, with a dialog to add one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { AddDomain } from "./add-domain.tsx";
import { domainLabel } from "./labels.ts";

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
  return (
    <Page
      title="Domains"
      intro="You can send from domains whose DNS you control. Publish the DNS records of each domain; Posthorn checks them regularly."
      actions={
        <WriteOnly>
          <Button onClick={adding.open}>Add domain</Button>
        </WriteOnly>
      }
    >
      <PagedList
        query={query}
        what="the domains"
        label="Domains, newest first"
        keyOf={(domain) => domain.id}
        row={(domain) => <DomainRow domain={domain} />}
        framed
        empty={
          <Empty
            action={
              <WriteOnly>
                <Button onClick={adding.open}>Add your first domain</Button>
              </WriteOnly>
            }
          >
            No domains yet. Add your first domain to get the DNS records that it needs.
          </Empty>
        }
      />
      <AddDomain
        isOpen={isAdding}
        onClose={adding.close}
        onAdded={({ id }) => void navigate({ to: "/domains/$id", params: { id } })}
      />
    </Page>
  );
}

function DomainRow({ domain }: { domain: Domain }) {
  const { summary } = domain;
  return (
    <Link to="/domains/$id" params={{ id: domain.id }} className="row">
      <StatusBadge of={domainLabel(domain.status)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {domain.domain}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {summary?.canSend ? "Can send" : "Cannot send yet"}
          {summary?.canReceive && ", can receive"}
          {summary && summary.recordsPending > 0 && ` · DNS records to fix: ${summary.recordsPending}`}
        </Text>
      </div>
      <span className="aside">{domain.lastCheckedAt ? <Time at={domain.lastCheckedAt} /> : "not checked yet"}</span>
    </Link>
  );
}
