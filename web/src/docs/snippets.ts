/** The call that sends an email, in six languages. The only source: the first-run guide and the overview show them with the caller's values,
 * `npm run generate` writes them into docs/quickstart.md, and test/docs/quickstart.test.ts runs each one. */

export type SnippetValues = {
  /** Such as http://127.0.0.1:8825. */
  origin: string;
  /** Written into the code. Without it, the code reads the environment variable POSTHORN_KEY. */
  key?: string;
  from: string;
  to: string;
  subject: string;
  body: string;
};

export type Language = { id: string; label: string; write(values: SnippetValues): string };

const method = "/v1.EmailService/SendEmail";

export const languages = [
  { id: "curl", label: "curl", write: curl },
  { id: "ts", label: "TypeScript", write: typescript },
  { id: "python", label: "Python", write: python },
  { id: "go", label: "Go", write: go },
  { id: "php", label: "PHP", write: php },
  { id: "ruby", label: "Ruby", write: ruby },
] as const satisfies readonly Language[];

/** What a language needs before the code runs. */
export const installs: Partial<Record<string, string>> = { ts: "npm install posthorn" };

function curl({ origin, key, from, to, subject, body }: SnippetValues): string {
  const email = JSON.stringify({ from, to: [to], subject, body });
  return [
    `curl ${origin}${method} \\`,
    `  -H "Authorization: Bearer ${key ?? "$POSTHORN_KEY"}" \\`,
    `  -H "Connect-Protocol-Version: 1" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${email.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}

function typescript({ origin, key, from, to, subject, body }: SnippetValues): string {
  return `import { Posthorn } from "posthorn";

const posthorn = new Posthorn({
  baseUrl: ${quote(origin)},
  apiKey: ${key ? quote(key) : "process.env.POSTHORN_KEY"},
});
const email = await posthorn.emails.send({
  from: ${quote(from)},
  to: ${quote(to)},
  subject: ${quote(subject)},
  body: ${quote(body)},
});
console.log(email.id, email.status);`;
}

function python({ origin, key, from, to, subject, body }: SnippetValues): string {
  return `import json
${key ? "" : "import os\n"}import urllib.error
import urllib.request

email = {
    "from": ${quote(from)},
    "to": [${quote(to)}],
    "subject": ${quote(subject)},
    "body": ${quote(body)},
}
request = urllib.request.Request(
    ${quote(origin + method)},
    data=json.dumps(email).encode(),
    headers={
        "Authorization": ${key ? quote(`Bearer ${key}`) : '"Bearer " + os.environ["POSTHORN_KEY"]'},
        "Connect-Protocol-Version": "1",
        "Content-Type": "application/json",
    },
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.read().decode())
except urllib.error.HTTPError as error:
    raise SystemExit(error.read().decode())`;
}

function go({ origin, key, from, to, subject, body }: SnippetValues): string {
  return `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
${key ? "" : '\t"os"\n'})

func main() {
	email, err := json.Marshal(map[string]any{
		"from":    ${quote(from)},
		"to":      []string{${quote(to)}},
		"subject": ${quote(subject)},
		"body":    ${quote(body)},
	})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", ${quote(origin + method)}, bytes.NewReader(email))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", ${key ? quote(`Bearer ${key}`) : '"Bearer "+os.Getenv("POSTHORN_KEY")'})
	request.Header.Set("Connect-Protocol-Version", "1")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer))
}`;
}

function php({ origin, key, from, to, subject, body }: SnippetValues): string {
  return `<?php
$email = [
    'from' => ${single(from)},
    'to' => [${single(to)}],
    'subject' => ${single(subject)},
    'body' => ${single(body)},
];
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        ${key ? single(`Authorization: Bearer ${key}`) : "'Authorization: Bearer ' . getenv('POSTHORN_KEY')"},
        'Connect-Protocol-Version: 1',
        'Content-Type: application/json',
    ],
    'content' => json_encode($email),
    'ignore_errors' => true,
]]);
echo file_get_contents(${single(origin + method)}, false, $context), PHP_EOL;`;
}

function ruby({ origin, key, from, to, subject, body }: SnippetValues): string {
  return `require "json"
require "net/http"

email = {
  from: ${rubyQuote(from)},
  to: [${rubyQuote(to)}],
  subject: ${rubyQuote(subject)},
  body: ${rubyQuote(body)}
}
response = Net::HTTP.post(
  URI(${rubyQuote(origin + method)}),
  email.to_json,
  "Authorization" => ${key ? rubyQuote(`Bearer ${key}`) : '"Bearer #{ENV.fetch("POSTHORN_KEY")}"'},
  "Connect-Protocol-Version" => "1",
  "Content-Type" => "application/json"
)
puts response.body`;
}

/** A string in double quotes. TypeScript, Python and Go read JSON's escapes alike. */
const quote = (text: string) => JSON.stringify(text);

/** Ruby inserts values at # in double quotes. */
const rubyQuote = (text: string) => quote(text).replaceAll("#", "\\#");

/** PHP inserts values at $ in double quotes, but not in single ones. */
const single = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
