/** API keys: see them, make one, revoke one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Card, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { useSession } from "../api/session.ts";
import { CreateKey } from "../keys/create-key.tsx";
import { KeyCard } from "../keys/key-card.tsx";
import { RevokeKey } from "../keys/revoke-key.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { SignIn } from "../shell/sign-in.tsx";

export function KeysPage() {
  const { key } = useSession();
  return (
    <Stack gap="lg" maw={960}>
      <title>API keys · Posthorn</title>
      {key === undefined ? (
        <>
          <Title order={1}>API keys</Title>
          <SignIn />
        </>
      ) : (
        <Keys />
      )}
    </Stack>
  );
}

function Keys() {
  const [isCreating, creation] = useDisclosure(false);
  const [leaving, setLeaving] = useState<Key>();
  return (
    <>
      <Group justify="space-between">
        <Title order={1}>API keys</Title>
        <Button onClick={creation.open}>Create key</Button>
      </Group>
      <Text c="dimmed" maw={640}>
        Each program that calls the API carries a key. A key belongs to this workspace; its secret is shown once, when
        it is made.
      </Text>
      <KeyList onRevoke={setLeaving} onCreate={creation.open} />
      <CreateKey isOpen={isCreating} onClose={creation.close} />
      <RevokeKey subject={leaving} onClose={() => setLeaving(undefined)} />
    </>
  );
}

function KeyList({ onRevoke, onCreate }: { onRevoke: (key: Key) => void; onCreate: () => void }) {
  const list = useInfiniteQuery(
    KeyService.method.listKeys,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  if (list.isPending) return <Loading />;
  if (list.isError) return <ProblemAlert error={list.error} onRetry={() => void list.refetch()} />;
  const keys = list.data.pages.flatMap((page) => page.data);
  if (keys.length === 0) return <Empty onCreate={onCreate} />;
  return (
    <>
      <Stack component="ul" gap="sm" m={0} p={0} aria-label="Keys, newest first" style={{ listStyle: "none" }}>
        {keys.map((key) => (
          <KeyCard key={key.id} subject={key} onRevoke={() => onRevoke(key)} />
        ))}
      </Stack>
      {list.hasNextPage && (
        <Button
          variant="default"
          onClick={() => void list.fetchNextPage()}
          loading={list.isFetchingNextPage}
          style={{ alignSelf: "center" }}
        >
          Show more
        </Button>
      )}
    </>
  );
}

function Loading() {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading the keys" role="status">
      {[1, 2, 3].map((i) => (
        <Skeleton key={i} height={92} radius="md" />
      ))}
    </Stack>
  );
}

function Empty({ onCreate }: { onCreate: () => void }) {
  return (
    <Card withBorder padding="xl">
      <Stack align="flex-start">
        <Text>This workspace has no key yet. A program needs one to send.</Text>
        <Button onClick={onCreate}>Create the first key</Button>
      </Stack>
    </Card>
  );
}
