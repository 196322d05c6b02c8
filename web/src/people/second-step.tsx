/** The second step of a sign-in: a code of the authenticator app, a passkey, or a recovery code. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { auth, type SecondFactorMethod, type Session, setAuthState, useAuthState } from "../api/auth.ts";
import { askForPasskey, canUsePasskeys } from "../api/passkey.ts";
import { reasonOf } from "../api/problem.ts";
import { endSession, signInAs } from "../api/session.ts";
import { Form, formErrors } from "../parts/form.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { CodeField } from "./code-field.tsx";
import { PasskeyHint } from "./passkey-hint.tsx";

const switchLabels: Record<SecondFactorMethod, string> = {
  totp: "Use the authenticator app",
  passkey: "Use a passkey",
  recovery: "Use a recovery code",
};

export function SecondStep({ methods }: { methods: SecondFactorMethod[] }) {
  const { data } = useAuthState();
  const canPasskey = canUsePasskeys(data?.passkeyOrigin);
  const usable = methods.filter((method) => method !== "passkey" || canPasskey);
  const [chosen, choose] = useState<SecondFactorMethod>();
  const method = chosen ?? usable[0];
  return (
    <Stack>
      <Text size="sm">One more step: confirm with your second factor.</Text>
      {method === "passkey" ? <PasskeyStep /> : method && <CodeStep key={method} isRecovery={method === "recovery"} />}
      {methods.includes("passkey") && <PasskeyHint origin={data?.passkeyOrigin} path={location.pathname} />}
      <Group gap="xs">
        {usable
          .filter((one) => one !== method)
          .map((one) => (
            <Button key={one} variant="subtle" size="compact-sm" onClick={() => choose(one)}>
              {switchLabels[one]}
            </Button>
          ))}
        <Button variant="subtle" size="compact-sm" onClick={() => void cancel()}>
          Start over
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        Lost all of them? Ask the operator of this service to remove your second factors.
      </Text>
    </Stack>
  );
}

/** Sends the second step. A sign-in that has ended leads back to the first step. */
function useSecondStep(prepare: () => Promise<object>) {
  return useMutation({
    gcTime: 0,
    mutationFn: async () => await auth<Session>("second-factor", await prepare()),
    onSuccess(session) {
      setAuthState((before) => ({ ...before, secondFactor: null }));
      signInAs(session);
    },
    onError(error) {
      if (reasonOf(error) === "SIGN_IN_ENDED") leave(error.message);
    },
  });
}

function CodeStep({ isRecovery }: { isRecovery: boolean }) {
  const [code, setCode] = useState("");
  const step = useSecondStep(async () => ({ code }));
  const { fields, error } = formErrors(step.error);
  return (
    <Form submitLabel="Sign in" isPending={step.isPending} error={error} onSubmit={() => step.mutate()} isWide>
      <CodeField isRecovery={isRecovery} value={code} onChange={setCode} error={fields.code} takesFocus />
    </Form>
  );
}

function PasskeyStep() {
  const step = useSecondStep(async () => ({ credential: await askForPasskey("second_factor") }));
  return (
    <Stack>
      {step.error && <ProblemAlert error={step.error} />}
      <Button loading={step.isPending} onClick={() => step.mutate()}>
        Continue with a passkey
      </Button>
    </Stack>
  );
}

function leave(reason?: string): void {
  setAuthState((before) => ({ ...before, secondFactor: null }));
  endSession(reason);
}

async function cancel(): Promise<void> {
  // The sign-in ends by itself after 10 minutes if the server cannot be reached.
  await auth("cancel-sign-in", {}).catch(() => {});
  leave();
}
