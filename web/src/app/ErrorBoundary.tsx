import { Problem } from "@/kit";

/** A page that threw: the rest of the console goes on. */
export function ErrorBoundary({ error }: { error: unknown }) {
  return (
    <div className="mx-auto max-w-2xl p-8">
      <Problem error={error} retry={() => location.reload()} />
    </div>
  );
}
