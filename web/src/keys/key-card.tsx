/** One key in the list: permission, limits, maker, last use and end, and buttons to edit, rotate and revoke it. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Badge, Button, Card, Code, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { type Key, KeyMakerKind } from "../../../src/gen/v1/key_pb.ts";
import { isOwnKey } from "../api/session.ts";
import { Time, useNow } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { configuredKeyName, permissionOf, scopeName } from "./permissions.ts";

/** When the owners get the first reminder. */
const warnMs = 7 * 86_400_000;

export function KeyCard(props: { subject: Key; onEdit: () => void; onRotate: () => void; onRevoke: () => void }) {
  const { subject, onEdit, onRotate, onRevoke } = props;
  const permission = permissionOf(subject.permission);
  const isRevoked = subject.revokedAt !== undefined;
  const nowMs = useNow().getTime();
  const leftMs = subject.expiresAt ? timestampDate(subject.expiresAt).getTime() - nowMs : Number.POSITIVE_INFINITY;
  const isOver = isRevoked || leftMs <= 0;
  return (
    <Card withBorder padding="md">
      <Group justify="space-between" align="flex-start">
        <Stack gap={6} flex="1 1 240px" miw={0}>
          <Group gap="xs">
            <Text
              fw={600}
              style={{ overflowWrap: "anywhere" }}
              c={isOver ? "dimmed" : undefined}
              td={isOver ? "line-through" : undefined}
            >
              {subject.name}
            </Text>
            <Badge variant="light" color={permission.color}>
              {permission.name}
            </Badge>
            {subject.test && (
              <Badge variant="light" color="grape">
                Test
              </Badge>
            )}
            {isOwnKey(subject.prefix) && <Badge variant="default">This session</Badge>}
            {isRevoked && (
              <Badge variant="light" color="gray">
                Revoked
              </Badge>
            )}
            {!isRevoked && leftMs <= 0 && (
              <Badge variant="light" color="red">
                Expired
              </Badge>
            )}
            {!isOver && leftMs <= warnMs && (
              <Badge variant="light" color="orange">
                Expires soon
              </Badge>
            )}
          </Group>
          <Group>
            <Code>{subject.prefix}…</Code>
          </Group>
          <KeyLimits subject={subject} />
          <KeyTimes subject={subject} isExpired={leftMs <= 0} />
        </Stack>
        {!isRevoked && (
          <WriteOnly>
            <Group gap="xs">
              <Button variant="default" size="xs" onClick={onEdit} aria-label={`Edit ${subject.name}`}>
                Edit
              </Button>
              {!isOver && subject.name !== configuredKeyName && (
                <Button variant="default" size="xs" onClick={onRotate} aria-label={`Rotate ${subject.name}`}>
                  Rotate
                </Button>
              )}
              <Button variant="default" size="xs" onClick={onRevoke} aria-label={`Revoke ${subject.name}`}>
                Revoke
              </Button>
            </Group>
          </WriteOnly>
        )}
      </Group>
    </Card>
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
