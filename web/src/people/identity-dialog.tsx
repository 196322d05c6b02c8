/** The dialog that asks the person to confirm who they are before a sensitive change. The layout shows it; api/confirm.ts opens it. */
import { Button, Divider, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { auth, refreshAuthState } from "../api/auth.ts";
import { useConfirmation } from "../api/confirm.ts";
import { type ConfirmBy, refreshFactors, useFactors } from "../api/factors.ts";
import { askForPasskey, canUsePasskeys } from "../api/passkey.ts";
import { signOut } from "../api/session.ts";
import { Form, formErrors, SecretField } from "../parts/form.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { CodeField } from "./code-field.tsx";
import { PasskeyHint } from "./passkey-hint.tsx";
import { useProvider } from "./providers.tsx";

export function IdentityDialog() {
  const finish = useConfirmation();
  return (
    <Modal
      opened={finish !== undefined}
      onClose={() => finish?.(false)}
      title="Confirm your identity"
      // Above the dialog whose form needs the confirmation.
      zIndex={400}
    >
      {finish && <Questions onDone={() => finish(true)} onCancel={() => finish(false)} />}
    </Modal>
  );
}

function Questions({ onDone, onCancel }: { onDone(): void; onCancel(): void }) {
  const factors = useFactors();
  if (factors.error) return <ProblemAlert error={factors.error} onRetry={() => void factors.refetch()} />;
  if (!factors.data) return <Loading what="your second factors" rows={2} />;
  const { confirm, passkeyOrigin } = factors.data;
  const canPasskey = confirm.passkey && canUsePasskeys(passkeyOrigin);
  const hasForm = confirm.password || confirm.code;
  return (
    <Stack>
      <Text size="sm">This is a sensitive change. You will not be asked again for 15 minutes.</Text>
      {hasForm && <PasswordAndCode by={confirm} onDone={onDone} />}
      {hasForm && (canPasskey || confirm.providers.length > 0) && <Divider label="or" />}
      {canPasskey && <ByPasskey onDone={onDone} />}
      {confirm.passkey && <PasskeyHint origin={passkeyOrigin} path={location.pathname} />}
      <ByProvider providers={confirm.providers} />
      {confirm.signIn && <SignInAgain onLeave={onCancel} />}
    </Stack>
  );
}

function useConfirm(onDone: () => void, prepare: () => Promise<object>) {
  return useMutation({
    gcTime: 0,
    mutationFn: async () => await auth("confirm", await prepare()),
    onSuccess() {
      onDone();
      // The session may have a second factor now.
      void refreshAuthState();
      void refreshFactors();
    },
  });
}

function PasswordAndCode({ by, onDone }: { by: ConfirmBy; onDone(): void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const confirming = useConfirm(onDone, async () => ({ password, code }));
  const { fields, error } = formErrors(confirming.error);
  return (
    <Form
      submitLabel="Confirm"
      isPending={confirming.isPending}
      error={error}
      onSubmit={() => confirming.mutate()}
      isWide
    >
      {by.password && (
        <SecretField
          label="Your password"
          value={password}
          onChange={setPassword}
          error={fields.password}
          autoComplete="current-password"
          what="the password"
          data-autofocus
          isRequired
        />
      )}
      {by.code && (
        <CodeField
          label="Code"
          description="From your authenticator app, or a recovery code."
          value={code}
          onChange={setCode}
          error={fields.code}
        />
      )}
    </Form>
  );
}

function ByPasskey({ onDone }: { onDone(): void }) {
  const confirming = useConfirm(onDone, async () => ({ credential: await askForPasskey("confirm") }));
  return (
    <Stack>
      {confirming.error && <ProblemAlert error={confirming.error} />}
      <Button variant="default" loading={confirming.isPending} onClick={() => confirming.mutate()}>
        Confirm with a passkey
      </Button>
    </Stack>
  );
}

/** Leaves the page, so the change has to be repeated afterwards. */
function ByProvider({ providers }: { providers: ConfirmBy["providers"] }) {
  const { open, isPending, error } = useProvider();
  if (providers.length === 0) return null;
  const page = location.pathname + location.search;
  return (
    <Stack>
      {error && <ProblemAlert error={error} />}
      {providers.map(({ name, label }) => (
        <Button
          key={name}
          variant="default"
          loading={isPending}
          onClick={() => open({ provider: name, purpose: "confirm", return: page })}
        >
          Confirm with {label}
        </Button>
      ))}
      <Text size="sm" c="dimmed">
        You sign in at the provider again and return to this page. Then repeat the change.
      </Text>
    </Stack>
  );
}

function SignInAgain({ onLeave }: { onLeave(): void }) {
  const leave = () => {
    onLeave();
    void signOut();
  };
  return (
    <Stack>
      <Text size="sm">Your account has no password and no second factor. Sign out and sign in again to confirm.</Text>
      <Button onClick={leave}>Sign out</Button>
    </Stack>
  );
}
