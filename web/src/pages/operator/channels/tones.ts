import type { Channel } from "@/api";
import type { Tone } from "@/kit";

export const channelTones: Record<Channel["state"], Tone> = { active: "ok", draining: "warn", off: "neutral" };
