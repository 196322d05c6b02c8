/** The frame of the pages for sign-in, sign-up, invitations and passwords: a heading and a form. Without a session, a dark half next to it
 * shows what the product does. */
import { Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

export function AuthCard({ title, intro, children }: { title: string; intro?: ReactNode; children: ReactNode }) {
  return (
    <div className="door">
      <title>{`${title} · Posthorn`}</title>
      <section className="door-form" aria-labelledby="auth-title">
        <Stack>
          <Title order={1} id="auth-title" className="wrap">
            {title}
          </Title>
          {intro && (
            <Text c="dimmed" className="wrap">
              {intro}
            </Text>
          )}
          {children}
        </Stack>
      </section>
      <aside className="night" aria-label="About Posthorn">
        <p className="night-title">Every email, from accepted to answered.</p>
        {/* An example of a log, as a picture. */}
        <div className="tape" aria-hidden="true">
          {tape.map(({ time, word, tone, rest }) => (
            <div key={word}>
              <span>{time}</span> <b className={tone}>{word.padEnd(9)}</b> {rest}
            </div>
          ))}
        </div>
        <p>Transactional email on your own servers: an API, a queue, a mail server, and an event for each step.</p>
      </aside>
    </div>
  );
}

const tape = [
  { time: "14:03:11", word: "accepted", tone: "gold", rest: "orders@northwind.example" },
  { time: "14:03:11", word: "signed", tone: "gold", rest: "ph1._domainkey.northwind.example" },
  { time: "14:03:12", word: "delivered", tone: "green", rest: "250 2.0.0 OK  mx1.contoso.example  TLS 1.3" },
  { time: "14:09:40", word: "replied", tone: "green", rest: "“Thank you, it arrived.”" },
];
