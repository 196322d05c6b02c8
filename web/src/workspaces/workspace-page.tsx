/** The page of the current workspace: its name, its security, its quotas and its members. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { setAuthState, type WorkspaceOfPerson } from "../api/auth.ts";
import { explain } from "../api/problem.ts";
import { useSession } from "../api/session.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Empty, ProblemAlert } from "../parts/states.tsx";
import { CreateWorkspace } from "./create-workspace.tsx";
import { Members } from "./members.tsx";
import { Quotas } from "./quotas.tsx";
import { Security } from "./security.tsx";

export function WorkspacePage() {
  const { caller } = useSession();
  const [isCreating, creating] = useDisclosure(false);
  if (caller?.kind !== "person" || !caller.workspace)
    return (
      <Page title="Members and settings">
        <Empty>You are signed in with an API key. To manage members, sign in with your email address.</Empty>
        <Quotas />
      </Page>
    );
  const { workspace, person } = caller;
  const isOwner = workspace.role === "owner";
  return (
    <Page
      title="Members and settings"
      intro="Members see and use this workspace. Their role decides what they may change."
      actions={
        <Button variant="default" onClick={creating.open}>
          Create another workspace
        </Button>
      }
    >
      <Members isOwner={isOwner} ownEmail={person.email} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <WorkspaceDetails key={workspace.id} workspace={workspace} isOwner={isOwner} />
        <Security key={`security ${workspace.id}`} workspace={workspace} isOwner={isOwner} />
      </SimpleGrid>
      <Quotas />
      <CreateWorkspace isOpen={isCreating} onClose={creating.close} />
    </Page>
  );
}

function WorkspaceDetails({ workspace, isOwner }: { workspace: WorkspaceOfPerson; isOwner: boolean }) {
  const [name, setName] = useState(workspace.name);
  const renaming = useMutation(WorkspaceService.method.updateWorkspace, {
    onSuccess({ workspace: after }) {
      if (!after) return;
      const { id, name } = after;
      setAuthState((before) => ({
        ...before,
        workspaces: before.workspaces.map((one) => (one.id === id ? { ...one, name } : one)),
      }));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    renaming.mutate({ name: name.trim() });
  };
  const fields = renaming.error ? explain(renaming.error).fields : {};
  return (
    <Section title="Details">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Group align="flex-end">
            <TextInput
              label="Name"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={fields.name}
              maxLength={100}
              readOnly={!isOwner}
              required
              withAsterisk={false}
              flex="1 1 240px"
            />
            {isOwner && (
              <Button
                type="submit"
                variant="default"
                loading={renaming.isPending}
                disabled={name.trim() === workspace.name}
              >
                Rename workspace
              </Button>
            )}
          </Group>
          {renaming.error && Object.keys(fields).length === 0 && <ProblemAlert error={renaming.error} />}
          {!isOwner && (
            <Alert color="blue">
              Your role is {workspace.role}. Only owners can manage members and rename the workspace.
            </Alert>
          )}
          <Text size="sm" component="div">
            <Copyable value={workspace.id} name="the workspace id" />
          </Text>
        </Stack>
      </form>
    </Section>
  );
}
