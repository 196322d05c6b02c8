/** The dialog that creates and revokes links to a domain's records, for the colleague who runs DNS. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, NativeSelect, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Domain, type DomainLink, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { LogTime, Time } from "../parts/time.tsx";

const { createDomainLink, listDomainLinks, revokeDomainLink } = DomainService.method;

export function ShareDomain({ domain }: { domain: Domain }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Share with your DNS admin
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Share with your DNS admin" size="lg">
        {isOpen && <Links domain={domain} />}
      </Modal>
    </>
  );
}

function Links({ domain }: { domain: Domain }) {
  const [days, setDays] = useState("7");
  const creation = useMutation(createDomainLink, {
    // The response contains the token of the link, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess: () => void invalidate(listDomainLinks),
  });
  const links = useInfiniteQuery(
    listDomainLinks,
    { id: domain.id, pageSize: 20, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const url = creation.data && new URL(creation.data.url, location.origin).href;
  const rows = links.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Stack>
      <Text size="sm">
        Anyone with the link can see the records of <strong>{domain.domain}</strong> and their status, without an
        account. The page is read-only, shows nothing else of your workspace, and updates by itself.
      </Text>
      <Group align="flex-end">
        <NativeSelect
          label="Valid for"
          value={days}
          onChange={({ currentTarget }) => setDays(currentTarget.value)}
          data={[
            { value: "1", label: "1 day" },
            { value: "7", label: "7 days" },
            { value: "30", label: "30 days" },
          ]}
        />
        <Button
          loading={creation.isPending}
          onClick={() => creation.mutate({ id: domain.id, days: Number(days) })}
          data-autofocus
        >
          Create link
        </Button>
      </Group>
      {creation.error && <ProblemAlert error={creation.error} />}
      {url && (
        <div role="status">
          <Text size="sm">Link created. Copy it now: it is not shown again.</Text>
          <Copyable value={url} name="the link" />
        </div>
      )}
      {links.error && <ProblemAlert error={links.error} onRetry={() => void links.refetch()} />}
      {rows.length > 0 && (
        <ul className="list link-list" aria-label="Active links">
          {rows.map((link) => (
            <LinkRow key={link.id} link={link} />
          ))}
        </ul>
      )}
    </Stack>
  );
}

function LinkRow({ link }: { link: DomainLink }) {
  const revocation = useMutation(revokeDomainLink, { onSuccess: () => void invalidate(listDomainLinks) });
  return (
    <li>
      <span>
        Created {link.createdAt && <Time at={link.createdAt} />}, works until{" "}
        {link.expiresAt && <LogTime at={link.expiresAt} />}
        <span className="faint">
          ,{" "}
          {link.lastViewedAt ? (
            <>
              opened <Time at={link.lastViewedAt} />
            </>
          ) : (
            "not opened yet"
          )}
        </span>
      </span>
      <Button
        variant="default"
        size="compact-sm"
        loading={revocation.isPending}
        onClick={() => revocation.mutate({ id: link.id })}
      >
        Revoke link
      </Button>
      {revocation.error && <ProblemAlert error={revocation.error} />}
    </li>
  );
}
