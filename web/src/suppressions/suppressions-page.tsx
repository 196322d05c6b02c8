/** The suppression list, with dialogs to add, remove and import addresses, and an export. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { type Suppression, type SuppressionReason, SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { UnattributedReports } from "../inbound/unattributed-reports.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { AddSuppression } from "./add.tsx";
import { ExportSuppressions } from "./export.tsx";
import { ImportSuppressions } from "./import.tsx";
import { reasonLabel, reasons } from "./labels.ts";
import { Unsubscribes } from "./unsubscribes.tsx";

const route = getRouteApi("/suppressions");

export function SuppressionsPage() {
  const [open, setOpen] = useState<"add" | "import">();
  const [removing, setRemoving] = useState<Suppression>();
  const { q = "" } = route.useSearch();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Suppressions"
      intro="Posthorn does not send to these addresses from this workspace. Unknown mailboxes and spam complaints are added automatically."
      actions={
        <>
          <ExportSuppressions />
          <WriteOnly>
            <Button variant="default" onClick={() => setOpen("import")}>
              Import addresses
            </Button>
            <Button onClick={() => setOpen("add")}>Suppress address</Button>
          </WriteOnly>
        </>
      }
    >
      <Listed onRemove={setRemoving} />
      <Unsubscribes search={q} />
      <UnattributedReports />
      <AddSuppression isOpen={open === "add"} onClose={close} />
      <ImportSuppressions isOpen={open === "import"} onClose={close} />
      <Remove subject={removing} onClose={() => setRemoving(undefined)} />
    </Page>
  );
}

const reasonOptions = [
  { value: "", label: "Any reason" },
  ...reasons.map((reason) => ({ value: String(reason), label: reasonLabel(reason).text })),
];

function Listed({ onRemove }: { onRemove(subject: Suppression): void }) {
  const { q = "", reason = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: { q?: string; reason?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useInfiniteQuery(
    SuppressionService.method.listSuppressions,
    { search: q, reason: (Number(reason) || 0) as SuppressionReason, pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const hasFilters = q !== "" || reason !== "";
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="Suppressions">
        <TextFilter label="Search" placeholder="Part of an address" value={q} onChange={(q) => change({ q })} />
        <NativeSelect
          label="Reason"
          data={reasonOptions}
          value={reason}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
      </SimpleGrid>
      <PagedList
        query={query}
        what="the suppressed addresses"
        label="Suppressed addresses, newest first"
        keyOf={(one) => one.address}
        row={(one) => <Row subject={one} onRemove={() => onRemove(one)} />}
        framed
        onRequest
        isFresh
        empty={
          hasFilters ? (
            <Empty action={<Button onClick={() => change({ q: "", reason: "" })}>Clear filters</Button>}>
              No suppressed addresses match.
            </Empty>
          ) : (
            <Empty>
              No suppressed addresses yet. Addresses whose mailbox does not exist, and those of people who report your
              mail as spam, are added automatically.
            </Empty>
          )
        }
      />
    </>
  );
}

function Row({ subject, onRemove }: { subject: Suppression; onRemove(): void }) {
  return (
    <div className="row">
      <StatusBadge of={reasonLabel(subject.reason)} />
      <div className="middle">
        <Text fw={560} className="wrap">
          {subject.address}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {subject.note}
        </Text>
      </div>
      <Group className="aside" gap="sm" justify="flex-end">
        {subject.createdAt && <Time at={subject.createdAt} />}
        <WriteOnly>
          <Button variant="default" size="compact-sm" onClick={onRemove} aria-label={`Remove ${subject.address}`}>
            Remove
          </Button>
        </WriteOnly>
      </Group>
    </div>
  );
}

function Remove({ subject, onClose }: { subject: Suppression | undefined; onClose(): void }) {
  const removal = useMutation(SuppressionService.method.removeSuppression, {
    onSuccess() {
      onClose();
      void invalidate(SuppressionService.method.listSuppressions);
    },
  });
  const close = () => {
    removal.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={subject !== undefined}
      title="Remove this address from the list?"
      confirmLabel="Remove address"
      cancelLabel="Keep address"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => subject && removal.mutate({ address: subject.address })}
      onClose={close}
    >
      <Text>
        Posthorn will send to <strong>{subject?.address}</strong> again. If the mailbox does not exist, or its owner
        does not want your mail, this harms your sender reputation.
      </Text>
    </Confirm>
  );
}
