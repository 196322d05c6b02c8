/** One key in the list: permission, creation, last use, and a button to revoke it. */
import { Badge, Button, Card, Code, Group, Stack, Text } from "@mantine/core";
import type { Key } from "../../../src/gen/v1/key_pb.ts";
import { isOwnKey } from "../api/session.ts";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { permissionOf } from "./permissions.ts";

export function KeyCard({ subject, onRevoke }: { subject: Key; onRevoke: () => void }) {
  const permission = permissionOf(subject.permission);
  const isRevoked = subject.revokedAt !== undefined;
  return (
    <Card withBorder padding="md">
      <Group justify="space-between" align="flex-start">
        <Stack gap={6} flex="1 1 240px" miw={0}>
          <Group gap="xs">
            <Text
              fw={600}
              style={{ overflowWrap: "anywhere" }}
              c={isRevoked ? "dimmed" : undefined}
              td={isRevoked ? "line-through" : undefined}
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
          </Group>
          <Group gap="md">
            <Code>{subject.prefix}…</Code>
            {subject.domain !== "" && <Text size="sm">sends only from {subject.domain}</Text>}
          </Group>
          <Text size="sm" c="dimmed">
            {subject.createdAt && (
              <>
                Created <Time at={subject.createdAt} />
              </>
            )}
            {" · "}
            {subject.lastUsedAt ? (
              <>
                last used <Time at={subject.lastUsedAt} />
              </>
            ) : (
              "never used"
            )}
            {subject.revokedAt && (
              <>
                {" · revoked "}
                <Time at={subject.revokedAt} />
              </>
            )}
          </Text>
        </Stack>
        {!isRevoked && (
          <WriteOnly>
            <Button variant="default" size="xs" onClick={onRevoke} aria-label={`Revoke ${subject.name}`}>
              Revoke
            </Button>
          </WriteOnly>
        )}
      </Group>
    </Card>
  );
}
