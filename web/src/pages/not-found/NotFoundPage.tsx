import { useSession } from "@/app/session";
import { Button, Empty, usePath, useTitle } from "@/kit";
import { useTexts } from "@/text";
import { notFoundTexts } from "./texts";

/** For an address that is none of ours. What a person may not see answers the same. */
export default function NotFoundPage() {
  const t = useTexts(notFoundTexts);
  const path = usePath();
  const { signed_in } = useSession();
  useTitle(t.title);
  return (
    <main className="flex min-h-dvh flex-col items-center justify-center px-4">
      <h1 className="sr-only">{t.title}</h1>
      <Empty
        title={t.title}
        text={
          <>
            {t.text} <span className="num [overflow-wrap:anywhere]">{path}</span>
          </>
        }
        action={
          <Button variant="primary" href={signed_in ? "/" : "/sign-in"}>
            {signed_in ? t.home : t.signIn}
          </Button>
        }
      />
    </main>
  );
}
