/** One row of the list of keys: permission, limits, maker, last use and end, and buttons to edit, rotate and revoke it. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { type Key, KeyMakerKind } from "../../../src/gen/v1/key_pb.ts";
import { isOwnKey } from "../api/session.ts";
import { Mark } from "../parts/outcome.tsx";
import { Time, useNow } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { configuredKeyName, permissionOf, scopeName } from "./permissions.ts";

/** When the owners get the first reminder. */
const warnMs = 7 * 86_400_000;

export function KeyRow(props: { subject: Key; onEdit: () => void; onRotate: () => void; onRevoke: () => void }) {
  const { subject, onEdit, onRotate, onRevoke } = props;
  const permission = permissionOf(subject.permission);
  const isRevoked = subject.revokedAt !== undefined;
  const nowMs = useNow().getTime();
  const leftMs = subject.expiresAt ? timestampDate(subject.expiresAt).getTime() - nowMs : Number.POSITIVE_INFINITY;
  const isOver = isRevoked || leftMs <= 0;
  return (
    <div className="key-row">
      <div className="wrap">
        <Group gap={6}>
          <strong className={isOver ? "key-name over" : "key-name"}>{subject.name}</strong>
          <Mark tone={permission.tone}>{permission.name}</Mark>
          {subject.test && <Mark tone="complained">Test</Mark>}
          {isOwnKey(subject.prefix) && <Mark tone="gold">This session</Mark>}
          {isRevoked && <Mark tone="canceled">Revoked</Mark>}
          {!isRevoked && leftMs <= 0 && <Mark tone="bounced">Expired</Mark>}
          {!isOver && leftMs <= warnMs && <Mark tone="delayed">Expires soon</Mark>}
        </Group>
        <KeyLimits subject={subject} />
      </div>
      <div className="wrap">
        <span className="mono">{subject.prefix}…</span>
        <KeyTimes subject={subject} isExpired={leftMs <= 0} />
      </div>
      {!isRevoked && (
        <WriteOnly>
          <Group gap={6} justify="flex-end" wrap="nowrap">
            <Button variant="default" size="compact-sm" onClick={onEdit} aria-label={`Edit ${subject.name}`}>
              Edit
            </Button>
            {!isOver && subject.name !== configuredKeyName && (
              <Button variant="default" size="compact-sm" onClick={onRotate} aria-label={`Rotate ${subject.name}`}>
                Rotate
              </Button>
            )}
            <Button
              variant="subtle"
              color="red"
              size="compact-sm"
              onClick={onRevoke}
              aria-label={`Revoke ${subject.name}`}
            >
              Revoke
            </Button>
          </Group>
        </WriteOnly>
      )}
    </div>
  );
}

function KeyLimits({ subject }: { subject: Key }) {
  const limits: [name: string, values: string[]][] = [
    ["May use", subject.scopes.map(scopeName)],
    ["Sends only from", subject.domains],
    ["Sends only to", subject.allowedRecipients],
    ["Works only from", subject.allowedAddresses],
  ];
  return limits
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => (
      <Text key={name} size="sm" style={{ overflowWrap: "anywhere" }}>
        {name}: {values.join(", ")}
      </Text>
    ));
}

function KeyTimes({ subject, isExpired }: { subject: Key; isExpired: boolean }) {
  const { createdAt, maker, lastUsedAt, lastUsedAddress, expiresAt, revokedAt } = subject;
  const facts: [name: string, text: ReactNode][] = [];
  if (createdAt)
    facts.push([
      "created",
      <>
        Created <Time at={createdAt} />
        {maker && ` by ${makerText(maker)}`}
      </>,
    ]);
  facts.push([
    "used",
    lastUsedAt ? (
      <>
        last used <Time at={lastUsedAt} />
        {lastUsedAddress !== "" && ` from ${lastUsedAddress}`}
      </>
    ) : (
      "never used"
    ),
  ]);
  if (expiresAt)
    facts.push([
      "expires",
      <>
        {isExpired ? "expired" : "expires"} <Time at={expiresAt} />
      </>,
    ]);
  if (revokedAt)
    facts.push([
      "revoked",
      <>
        revoked <Time at={revokedAt} />
      </>,
    ]);
  return (
    <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
      {facts.map(([name, text], i) => (
        <span key={name}>
          {i > 0 && " · "}
          {text}
        </span>
      ))}
    </Text>
  );
}

function makerText({ kind, name }: NonNullable<Key["maker"]>): string {
  if (kind === KeyMakerKind.PERSON) return name || "a person who has left";
  return name === "" ? "a key" : `the key ${name}`;
}
