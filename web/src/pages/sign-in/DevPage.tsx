/** The link that `trunkline dev` prints: it signs in at once. It works as often as it is opened while that process runs. */
import { useEffect, useState } from "react";
import { ApiError, api, type Session } from "@/api";
import { forgetToken, useFragmentToken } from "@/app/fragment";
import { useSession } from "@/app/session";
import { Problem, useGo } from "@/kit";
import { useTexts } from "@/text";
import { Frame } from "./Frame";
import { useEnter } from "./parts";
import { signInTexts } from "./texts";

/** A token of an earlier start, or a server that is no `trunkline dev`. */
function isOfAnotherStart(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "token_invalid" || error.code === "not_found");
}

export default function DevPage() {
  const t = useTexts(signInTexts).dev;
  const { signed_in } = useSession();
  const token = useFragmentToken();
  const enter = useEnter();
  const go = useGo();
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (token === null) return;
    setError(null);
    api.post<Session>("/api/session/dev", { token }).then((session) => {
      forgetToken();
      enter(session);
    }, setError);
  }, [token, enter]);
  useEffect(() => {
    if (token === null && signed_in) go("/", undefined, true);
  }, [token, signed_in, go]);
  if (token === null || isOfAnotherStart(error)) return <Frame title={t.oldTitle} lead={t.old} />;
  return (
    <Frame title={t.title} lead={t.lead}>
      {error !== null && <Problem error={error} retry={() => location.reload()} compact />}
    </Frame>
  );
}
