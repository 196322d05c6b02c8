export default function Page() {
  return <p>POST /orders sends an email, and POST /hooks/posthorn receives webhooks.</p>;
}
