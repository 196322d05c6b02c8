/** The suppression list: who is not sent to and why; add, remove, import, export. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { type Suppression, type SuppressionReason, SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { AddSuppression } from "../suppressions/add.tsx";
import { ExportSuppressions } from "../suppressions/export.tsx";
import { ImportSuppressions } from "../suppressions/import.tsx";
import { reasons, reasonWord } from "../suppressions/words.ts";

const route = getRouteApi("/suppressions");

export function SuppressionsPage() {
  const [open, setOpen] = useState<"add" | "import">();
  const [leaving, setLeaving] = useState<Suppression>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Suppressions"
      intro="Addresses that this workspace does not send to. A bounce for an unknown mailbox and a complaint put an address here; you can too."
      actions={
        <>
          <WriteOnly>
            <Button onClick={() => setOpen("add")}>Suppress an address</Button>
            <Button variant="default" onClick={() => setOpen("import")}>
              Import
            </Button>
          </WriteOnly>
          <ExportSuppressions />
        </>
      }
    >
      <Listed onRemove={setLeaving} />
      <AddSuppression isOpen={open === "add"} onClose={close} />
      <ImportSuppressions isOpen={open === "import"} onClose={close} />
      <Remove subject={leaving} onClose={() => setLeaving(undefined)} />
    </Page>
  );
}

const reasonOptions = [
  { value: "", label: "Any reason" },
  ...reasons.map((reason) => ({ value: String(reason), label: reasonWord(reason).word })),
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
  const isNarrowed = q !== "" || reason !== "";
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
        empty={
          isNarrowed ? (
            <Empty action={<Button onClick={() => change({ q: "", reason: "" })}>Clear filters</Button>}>
              No suppressed address matches.
            </Empty>
          ) : (
            <Empty>No address is suppressed. That is how it should be.</Empty>
          )
        }
      />
    </>
  );
}

function Row({ subject, onRemove }: { subject: Suppression; onRemove(): void }) {
  return (
    <div className="row">
      <Mark of={reasonWord(subject.reason)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {subject.address}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {subject.note}
        </Text>
      </div>
      <Group className="aside" gap="sm" justify="flex-end">
        {subject.createdAt && <Time at={subject.createdAt} />}
        <WriteOnly>
          {" "}
          <Button variant="default" size="xs" onClick={onRemove} aria-label={`Remove ${subject.address}`}>
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
      void changed(SuppressionService.method.listSuppressions);
    },
  });
  const close = () => {
    removal.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={subject !== undefined}
      title="Send to this address again?"
      act="Remove from the list"
      keep="Keep it suppressed"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => subject && removal.mutate({ address: subject.address })}
      onClose={close}
    >
      <Text>
        <strong>{subject?.address}</strong> will be sent to again. If the mailbox still does not exist, or its owner
        still does not want your mail, that harms how receivers judge you.
      </Text>
    </Confirm>
  );
}
