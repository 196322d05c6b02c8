/** Adds an authenticator app: shows the secret as a QR code and as text, and checks the first code. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { auth } from "../api/auth.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Form } from "../parts/form.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { CodeField } from "./code-field.tsx";
import { useAuth } from "./sign-in-form.tsx";

type Begun = { secret: string; uri: string; path: string; size: number };

export function AuthenticatorApp({ onDone }: { onDone(recoveryCodes: string[]): void }) {
  const begun = useQuery({
    queryKey: ["factors", "new app"],
    queryFn: begin,
    // The secret is new each time the dialog opens, and stays out of the cache.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  if (begun.error) return <ProblemAlert error={begun.error} onRetry={() => void begun.refetch()} />;
  if (!begun.data) return <Loading what="the new secret" rows={2} />;
  return <Scan begun={begun.data} onDone={onDone} />;
}

/** The code that draws the QR code is loaded when it is needed. */
async function begin(): Promise<Begun> {
  const [{ encode }, begun] = await Promise.all([
    import("uqr"),
    auth<{ secret: string; uri: string }>("begin-totp", {}),
  ]);
  const { data, size } = encode(begun.uri, { border: 2 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return { ...begun, path, size };
}

function Scan({ begun, onDone }: { begun: Begun; onDone(recoveryCodes: string[]): void }) {
  const [code, setCode] = useState("");
  const { send, isPending, fields, error } = useAuth<{ recoveryCodes: string[] }>("confirm-totp", (answer) =>
    onDone(answer.recoveryCodes),
  );
  return (
    <Form submitLabel="Add app" isPending={isPending} error={error} onSubmit={() => send({ code })} isWide>
      <Text size="sm">Scan this code with your authenticator app, then enter the six digits that it shows.</Text>
      {/* Dark on white in both color schemes: many apps cannot read an inverted code. */}
      <svg className="qr" viewBox={`0 0 ${begun.size} ${begun.size}`} role="img" aria-label="QR code of the secret">
        <rect width={begun.size} height={begun.size} fill="#fff" />
        <path d={begun.path} fill="#000" shapeRendering="crispEdges" />
      </svg>
      <Stack gap={4}>
        <Text size="sm">Cannot scan it? Enter this secret in the app:</Text>
        <Copyable value={begun.secret.replace(/(.{4})(?=.)/g, "$1 ")} name="the secret" />
      </Stack>
      <CodeField value={code} onChange={setCode} error={fields.code} />
    </Form>
  );
}
