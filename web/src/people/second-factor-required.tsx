/** Shown instead of a page while the workspace requires a second factor that this session lacks. */
import { Button, Text } from "@mantine/core";
import type { WorkspaceOfPerson } from "../api/auth.ts";
import { confirmIdentity } from "../api/confirm.ts";
import { useFactors } from "../api/factors.ts";
import { ButtonLink } from "../parts/links.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { AuthCard } from "./auth-card.tsx";

export function SecondFactorRequired({ workspace }: { workspace: WorkspaceOfPerson }) {
  const factors = useFactors();
  const hasFactor = factors.data && (factors.data.totp || factors.data.passkeys.length > 0);
  return (
    <AuthCard title="Second factor required">
      <Text size="sm" className="wrap">
        {workspace.requireSecondFactor ? `The workspace “${workspace.name}”` : "This service"} requires a second factor:
        an authenticator app or a passkey.
      </Text>
      {factors.isPending && <Loading what="your second factors" rows={1} />}
      {factors.error && <ProblemAlert error={factors.error} onRetry={() => void factors.refetch()} />}
      {hasFactor === true && (
        <>
          <Text size="sm">You have one, but you signed in without it.</Text>
          <Button onClick={() => void confirmIdentity()}>Confirm with your second factor</Button>
        </>
      )}
      {hasFactor === false && <ButtonLink to="/account">Add a second factor</ButtonLink>}
    </AuthCard>
  );
}
