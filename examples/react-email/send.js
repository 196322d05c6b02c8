// Sends a React component. The SDK renders it to HTML and makes the plain text from it.
import { Posthorn } from "posthorn";
import { createElement } from "react";
import { Welcome } from "./welcome.js";

const posthorn = new Posthorn();
const { id, status } = await posthorn.emails.send({
  from: { name: "Shop", address: process.env.FROM ?? "shop@example.test" },
  to: { name: "Ada Lovelace", address: "ada@there.test" },
  subject: "Welcome",
  // With a JSX compiler: <Welcome name="Ada" url="…" />
  react: createElement(Welcome, { name: "Ada <3", url: "https://shop.example/confirm?token=1042" }),
});
console.log(`${id}: ${status}`);
