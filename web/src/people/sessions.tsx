/** The sessions of the signed-in person: which browser, where and when. The person ends one or all others. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { type ListedSession, refreshSessions, useSessions } from "../api/factors.ts";
import { signOut } from "../api/session.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { DateTime } from "../parts/time.tsx";
import { useAuth } from "./sign-in-form.tsx";

const current = { text: "This browser", color: "gold" };
const ways = { password: "with password", passkey: "with passkey", oidc: "with single sign-on" } as const;

export function Sessions() {
  const sessions = useSessions();
  const [isDone, setIsDone] = useState(false);
  const ending = useAuth("end-other-sessions", async () => {
    await refreshSessions();
    setIsDone(true);
  });
  const hasOthers = (sessions.data?.length ?? 0) > 1;
  return (
    <Section
      title="Sessions"
      actions={
        hasOthers && (
          <Button variant="default" size="compact-sm" loading={ending.isPending} onClick={() => ending.send({})}>
            End all other sessions
          </Button>
        )
      }
    >
      <Text size="sm" c="dimmed">
        Browsers that are signed in to your account. If you do not recognize one, end its session and change your
        password.
      </Text>
      {sessions.isPending && <Loading what="your sessions" rows={2} />}
      {sessions.error && <ProblemAlert error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {ending.error && <ProblemAlert error={ending.error} />}
      {isDone && !hasOthers && (
        <Alert color="green" role="alert">
          All other sessions ended.
        </Alert>
      )}
      {sessions.data && (
        <ul className="plain" aria-label="Your sessions">
          {sessions.data.map((session) => (
            <li key={session.id}>
              <Row session={session} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Row({ session }: { session: ListedSession }) {
  const { browser, system, address, signedInBy, createdAt, lastUsedAt, isCurrent } = session;
  const ending = useAuth("end-session", refreshSessions);
  const name = [browser || "Unknown browser", system && `on ${system}`].filter(Boolean).join(" ");
  return (
    <Group justify="space-between" gap="xs">
      <div>
        <Group gap="xs">
          <Text fw={560}>{name}</Text>
          {isCurrent && <StatusBadge of={current} />}
        </Group>
        <Text size="sm" c="dimmed" className="wrap">
          Signed in {ways[signedInBy]} <DateTime at={createdAt} />
          {address && ` from ${address}`}, last used <DateTime at={lastUsedAt} />
        </Text>
        {ending.error && <ProblemAlert error={ending.error} />}
      </div>
      {isCurrent ? (
        <Button variant="default" size="compact-sm" onClick={signOut}>
          Sign out
        </Button>
      ) : (
        <Button
          variant="default"
          size="compact-sm"
          loading={ending.isPending}
          onClick={() => ending.send({ id: session.id })}
          aria-label={`End session: ${name}`}
        >
          End session
        </Button>
      )}
    </Group>
  );
}
