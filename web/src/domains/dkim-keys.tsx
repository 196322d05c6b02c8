/** The DKIM keys of a domain: which one signs, the records of imported keys, and import, export and removal. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { type DkimKey, type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { useRole } from "../api/session.ts";
import { Confirm } from "../parts/confirm.tsx";
import { download } from "../parts/download.ts";
import { Mark } from "../parts/outcome.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { LogTime, Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { ImportKey } from "./import-key.tsx";
import { keyFacts, keyFileName, keyMark } from "./key-text.ts";
import { RecordsTable } from "./records-table.tsx";
import { RotateDkim } from "./rotate-dkim.tsx";
import { zoneOf } from "./summary.ts";

const { getDkimKeys, exportDkimKey, removeDkimKey } = DomainService.method;

export function DkimKeys({ domain, onDone }: { domain: Domain; onDone(message: string): void }) {
  const query = useQuery(getDkimKeys, { id: domain.id }, { refetchInterval: 5_000 });
  const [action, setAction] = useState<{ kind: "export" | "remove"; key: DkimKey }>();
  const close = () => setAction(undefined);
  const keys = query.data?.keys ?? [];
  const records = keys.flatMap(({ id, record }) => (record ? [{ record, key: id }] : []));
  return (
    <Section
      title="DKIM keys"
      actions={
        <WriteOnly>
          {domain.summary?.canSend && <RotateDkim domain={domain} onRotated={onDone} />}
          <ImportKey domain={domain} />
        </WriteOnly>
      }
    >
      {query.isPending && <Loading what="the keys" rows={2} height={40} />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      <ul className="list link-list key-list" aria-label="DKIM keys">
        {keys.map((key) => (
          <KeyRow key={key.id} subject={key} onAct={(kind) => setAction({ kind, key })} />
        ))}
      </ul>
      {records.length > 0 && (
        <>
          <Text size="sm">
            Publish the TXT record of an imported key. The key signs once a check finds the record; without it, a key of
            Posthorn signs.
          </Text>
          <RecordsTable records={records} zone={zoneOf(domain)} label="Records of imported DKIM keys" />
        </>
      )}
      <ExportKey domain={domain} subject={action?.kind === "export" ? action.key : undefined} onClose={close} />
      <RemoveKey
        domain={domain}
        subject={action?.kind === "remove" ? action.key : undefined}
        onClose={close}
        onDone={onDone}
      />
    </Section>
  );
}

function KeyRow({ subject, onAct }: { subject: DkimKey; onAct(kind: "export" | "remove"): void }) {
  const { text, tone } = keyMark(subject);
  const isOwner = useRole() === "owner";
  const { selector, imported, lastSignedAt, signsFrom, note } = subject;
  return (
    <li>
      <span className="key-facts">
        <Mark tone={tone}>{text}</Mark> <code className="mono">{selector}</code> <span>{keyFacts(subject)}</span>
        <span className="faint">
          {signsFrom ? (
            <>
              signs from <LogTime at={signsFrom} /> on
            </>
          ) : lastSignedAt ? (
            <>
              signed <Time at={lastSignedAt} />
            </>
          ) : (
            "has not signed yet"
          )}
        </span>
        {note !== "" && <span className="key-note">{note}</span>}
      </span>
      <Group gap="xs">
        {isOwner && (
          <Button variant="default" size="compact-sm" onClick={() => onAct("export")} aria-label={`Export ${selector}`}>
            Export
          </Button>
        )}
        {imported && (
          <WriteOnly>
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => onAct("remove")}
              aria-label={`Remove ${selector}`}
            >
              Remove
            </Button>
          </WriteOnly>
        )}
      </Group>
    </li>
  );
}

type DialogProps = { domain: Domain; subject: DkimKey | undefined; onClose(): void };

function ExportKey({ domain, subject, onClose }: DialogProps) {
  const exporting = useMutation(exportDkimKey, {
    // The response contains the private key, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ privateKeyPem }) {
      if (subject) download(keyFileName(subject, domain.domain), privateKeyPem, "application/x-pem-file");
      close();
    },
  });
  const close = () => {
    exporting.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={subject !== undefined}
      title="Export the private key?"
      confirmLabel="Export key"
      isPending={exporting.isPending}
      error={exporting.error}
      onConfirm={() => subject && exporting.mutate({ id: subject.id })}
      onClose={close}
    >
      <Text>
        Anyone with the private key of <strong>{subject?.selector}</strong> can sign mail as {domain.domain} until its
        record is removed from DNS. Store the file like a password. The audit log records the export.
      </Text>
      {subject && !subject.portable && (
        <Text>
          This key has {subject.primes} primes, which many programs cannot import. For a key that works everywhere, ask
          the operator to set POSTHORN_DKIM_PRIMES to 2, then rotate the keys.
        </Text>
      )}
    </Confirm>
  );
}

function RemoveKey({ domain, subject, onClose, onDone }: DialogProps & { onDone(message: string): void }) {
  const removal = useMutation(removeDkimKey, {
    onSuccess({ message }) {
      void invalidate(getDkimKeys);
      onDone(message);
      close();
    },
  });
  const close = () => {
    removal.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={subject !== undefined}
      title="Remove the imported key?"
      confirmLabel="Remove key"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => subject && removal.mutate({ id: subject.id })}
      onClose={close}
    >
      <Text>
        The private key of <strong>{subject?.selector}</strong> is deleted, and mail of {domain.domain} is signed with
        another key. Keep the TXT record in DNS for 7 days: receivers verify mail in transit with it.
      </Text>
    </Confirm>
  );
}
