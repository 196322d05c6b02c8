/** Sending domains: see them, add one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { AddDomain } from "../domains/add-domain.tsx";
import { domainWord } from "../domains/words.ts";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

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
      intro="Mail is sent from addresses of domains whose DNS you control. Publish the records of each; Posthorn checks them and keeps checking."
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
                <Button onClick={adding.open}>Add the first domain</Button>
              </WriteOnly>
            }
          >
            There is no domain yet. Add one to see the DNS records that it needs.
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
      <Mark of={domainWord(domain.status)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {domain.domain}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {summary?.canSend ? "Can send" : "Cannot send yet"}
          {summary?.canReceive && ", can receive"}
          {summary && summary.recordsPending > 0 && ` · ${summary.recordsPending} records not in place`}
        </Text>
      </div>
      <span className="aside">{domain.lastCheckedAt ? <Time at={domain.lastCheckedAt} /> : "not checked yet"}</span>
    </Link>
  );
}
