/** The second factors of the signed-in person: authenticator app, passkeys and recovery codes. */
import { Alert, Button, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { refreshAuthState } from "../api/auth.ts";
import { type Factors, refreshFactors, useFactors } from "../api/factors.ts";
import { Confirm } from "../parts/confirm.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { AuthenticatorApp } from "./authenticator-app.tsx";
import { FactorKind } from "./factor-kind.tsx";
import { Passkeys } from "./passkeys.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";
import { useAuth } from "./sign-in-form.tsx";

export function SecondFactors() {
  const factors = useFactors();
  const [codes, setCodes] = useState<string[]>();
  /** After a factor was added or removed. The session may have gained or lost its second factor. */
  const onChanged = (newCodes: string[] = []) => {
    if (newCodes.length > 0) setCodes(newCodes);
    void refreshFactors();
    void refreshAuthState();
  };
  return (
    <Section title="Second factors">
      {factors.isPending && <Loading what="your second factors" rows={3} />}
      {factors.error && <ProblemAlert error={factors.error} onRetry={() => void factors.refetch()} />}
      {factors.data && (
        <Stack gap="xl">
          <Summary factors={factors.data} />
          <App isAdded={factors.data.totp} onChanged={onChanged} />
          <Passkeys factors={factors.data} onChanged={onChanged} />
          <Codes factors={factors.data} onChanged={onChanged} />
        </Stack>
      )}
      <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />
    </Section>
  );
}

function Summary({ factors }: { factors: Factors }) {
  const hasFactor = factors.totp || factors.passkeys.length > 0;
  if (!hasFactor && factors.isRequired)
    return (
      <Alert color="yellow">A second factor is required. Add an authenticator app or a passkey to continue.</Alert>
    );
  return (
    <Text size="sm" c="dimmed">
      {hasFactor
        ? "You sign in with your password and one of these. A passkey also works without the password."
        : "With a second factor, a stolen password is not enough to sign in to your account."}
    </Text>
  );
}

const added = { text: "Added", color: "green" };

function App({ isAdded, onChanged }: { isAdded: boolean; onChanged(codes?: string[]): void }) {
  const [isOpen, dialog] = useDisclosure(false);
  const removal = useAuth("remove-totp", () => {
    dialog.close();
    onChanged();
  });
  return (
    <FactorKind
      title="Authenticator app"
      badge={isAdded && <StatusBadge of={added} />}
      action={
        <Button variant="default" size="xs" onClick={dialog.open}>
          {isAdded ? "Remove app" : "Add app"}
        </Button>
      }
    >
      <Text size="sm">An app on your phone shows a new six-digit code every 30 seconds.</Text>
      {isAdded ? (
        <Confirm
          isOpen={isOpen}
          title="Remove the authenticator app?"
          confirmLabel="Remove app"
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.send({})}
          onClose={dialog.close}
        >
          <Text>Its codes will stop working. Without another second factor, you sign in with your password only.</Text>
        </Confirm>
      ) : (
        <Modal opened={isOpen} onClose={dialog.close} title="Add an authenticator app">
          <AuthenticatorApp
            onDone={(codes) => {
              dialog.close();
              onChanged(codes);
            }}
          />
        </Modal>
      )}
    </FactorKind>
  );
}

function Codes({ factors, onChanged }: { factors: Factors; onChanged(codes: string[]): void }) {
  const [isOpen, dialog] = useDisclosure(false);
  const replacing = useAuth<{ recoveryCodes: string[] }>("replace-recovery-codes", ({ recoveryCodes }) => {
    dialog.close();
    onChanged(recoveryCodes);
  });
  if (!factors.totp && factors.passkeys.length === 0) return null;
  const { recoveryCodes: left } = factors;
  return (
    <FactorKind
      title="Recovery codes"
      action={
        <Button variant="default" size="xs" onClick={dialog.open}>
          Replace recovery codes
        </Button>
      }
    >
      <Text size="sm">
        {left === 0
          ? "No codes left. Replace them, so that you can sign in if you lose your app or passkeys."
          : `${left} of 10 codes left. Use one to sign in if you lose your app or passkeys. Each code works once.`}
      </Text>
      <Confirm
        isOpen={isOpen}
        title="Replace the recovery codes?"
        confirmLabel="Replace recovery codes"
        isHarmless
        isPending={replacing.isPending}
        error={replacing.error}
        onConfirm={() => replacing.send({})}
        onClose={dialog.close}
      >
        <Text>You get ten new codes. The old ones will stop working.</Text>
      </Confirm>
    </FactorKind>
  );
}
