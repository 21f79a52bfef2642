/** Around every page: the session, the step-up dialog, toasts and tips. */
import { Outlet } from "@tanstack/react-router";
import { Problem, Tips, Toasts } from "@/kit";
import { StepUp } from "./StepUp";
import { SessionProvider, useSessionQuery } from "./session";

export function Root() {
  const { data, error, refetch } = useSessionQuery();
  return (
    <>
      {data !== undefined && (
        <SessionProvider session={data}>
          <Outlet />
          <StepUp />
        </SessionProvider>
      )}
      {data === undefined && error !== null && (
        <main className="mx-auto max-w-lg p-8">
          <Problem error={error} retry={() => void refetch()} />
        </main>
      )}
      <Toasts />
      <Tips />
    </>
  );
}
