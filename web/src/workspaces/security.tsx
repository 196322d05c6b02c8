/** Whether members of the workspace need a second factor. Owners change it. */
import { useMutation } from "@connectrpc/connect-query";
import { Stack, Switch, Text } from "@mantine/core";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { setAuthState, type WorkspaceOfPerson } from "../api/auth.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Section } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/states.tsx";

export function Security({ workspace, isOwner }: { workspace: WorkspaceOfPerson; isOwner: boolean }) {
  const isRequired = workspace.requireSecondFactor ?? false;
  const change = useMutation(WorkspaceService.method.updateWorkspace, {
    onSuccess({ workspace: after }) {
      if (!after) return;
      const { id, requireSecondFactor } = after;
      setAuthState((before) => ({
        ...before,
        workspaces: before.workspaces.map((one) => (one.id === id ? { ...one, requireSecondFactor } : one)),
      }));
    },
  });
  return (
    <Section title="Security">
      <Stack gap="sm">
        <Switch
          label="Require a second factor for all members"
          description="Members without one can use this workspace only after they add it. API keys are not affected."
          checked={change.isPending ? (change.variables.requireSecondFactor ?? isRequired) : isRequired}
          disabled={!isOwner || change.isPending}
          onChange={(event) => change.mutate({ requireSecondFactor: event.currentTarget.checked })}
        />
        {change.error && <ProblemAlert error={change.error} />}
        <Text size="sm">
          Add your own second factor on <AnchorLink to="/account">your account page</AnchorLink>.
        </Text>
      </Stack>
    </Section>
  );
}
