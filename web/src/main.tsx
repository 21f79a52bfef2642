import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "@/api";
import { takeFragment } from "@/app/fragment";
import { router } from "@/app/router";
import { language } from "@/text";
import "@/styles.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What the server refused stays refused; what did not arrive is worth one more try.
      retry: (failures, error) => failures < 1 && (!(error instanceof ApiError) || error.status === 0),
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
});

takeFragment();
document.documentElement.lang = language();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
