/** One realtime connection of the playground: its socket, its sound and what was said. */
import { useEffect, useReducer, useRef, useState } from "react";
import { ApiError } from "@/api";
import { playgroundKey } from "../dataPlaneClient";
import { after, type Conversation, NO_CONVERSATION, type ServerEvent, typed } from "./conversation";
import { Loudspeaker, Microphone } from "./sound";

export interface VoiceSettings {
  base: string;
  model: string;
  voice: string;
  instructions: string;
  microphone: boolean;
}

export type VoiceState = "idle" | "connecting" | "open";
/** Why a connection did not begin, or ended by itself. */
export type VoiceFault =
  | { kind: "microphone" }
  | { kind: "closed"; code: number; reason: string }
  | { kind: "api"; error: ApiError };

type Action = { kind: "event"; event: ServerEvent } | { kind: "typed"; id: string; text: string } | { kind: "clear" };

function reduce(now: Conversation, action: Action): Conversation {
  switch (action.kind) {
    case "event":
      return after(now, action.event);
    case "typed":
      return typed(now, action.id, action.text);
    case "clear":
      return NO_CONVERSATION;
  }
}

/** `https://host/v1` as the address of the socket. */
export function socketUrl(base: string, model: string): string {
  const address = new URL(`${base.replace(/\/+$/, "")}/realtime`);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.searchParams.set("model", model);
  return address.toString();
}

function sessionOf({ voice, instructions }: VoiceSettings): object {
  const format = { type: "audio/pcm", rate: 24_000 };
  return {
    type: "realtime",
    output_modalities: ["audio"],
    ...(instructions.trim() === "" ? {} : { instructions }),
    audio: {
      input: { format, turn_detection: { type: "server_vad" }, transcription: { model: "gpt-4o-mini-transcribe" } },
      output: { format, ...(voice === "" ? {} : { voice }) },
    },
  };
}

interface Open {
  socket: WebSocket;
  loudspeaker: Loudspeaker;
  microphone: Microphone | null;
}

function close({ socket, loudspeaker, microphone }: Open): void {
  socket.onclose = null;
  socket.close(1000);
  loudspeaker.close();
  microphone?.close();
}

export function useVoice() {
  const [state, setState] = useState<VoiceState>("idle");
  const [fault, setFault] = useState<VoiceFault | null>(null);
  const [conversation, tell] = useReducer(reduce, NO_CONVERSATION);
  const open = useRef<Open | null>(null);
  const stop = () => {
    if (open.current !== null) close(open.current);
    open.current = null;
    setState("idle");
  };
  useEffect(
    () => () => {
      if (open.current !== null) close(open.current);
    },
    [],
  );

  const send = (event: object) => open.current?.socket.send(JSON.stringify(event));
  const start = async (settings: VoiceSettings) => {
    setState("connecting");
    setFault(null);
    tell({ kind: "clear" });
    try {
      const key = await playgroundKey();
      const socket = new WebSocket(socketUrl(settings.base, settings.model), [
        "realtime",
        `openai-insecure-api-key.${key}`,
      ]);
      const connection: Open = { socket, loudspeaker: new Loudspeaker(), microphone: null };
      open.current = connection;
      socket.onmessage = (message: MessageEvent<string>) => {
        const event: ServerEvent = JSON.parse(message.data);
        if (event.type === "response.output_audio.delta") connection.loudspeaker.play(event.delta ?? "");
        if (event.type === "input_audio_buffer.speech_started") connection.loudspeaker.hush();
        tell({ kind: "event", event });
      };
      socket.onclose = (end) => {
        stop();
        if (end.code !== 1000) setFault({ kind: "closed", code: end.code, reason: end.reason });
      };
      const opened = await new Promise<boolean>((resolve) => {
        socket.addEventListener("open", () => resolve(true));
        socket.addEventListener("close", () => resolve(false));
      });
      if (!opened) return;
      send({ type: "session.update", session: sessionOf(settings) });
      setState("open");
      if (settings.microphone) {
        try {
          const microphone = await Microphone.open((audio) => send({ type: "input_audio_buffer.append", audio }));
          // Stopped while the browser asked for its permission.
          if (open.current !== connection) microphone.close();
          connection.microphone = microphone;
        } catch {
          setFault({ kind: "microphone" });
        }
      }
    } catch (error) {
      stop();
      if (error instanceof ApiError) setFault({ kind: "api", error });
      else setFault({ kind: "closed", code: 1006, reason: "" });
    }
  };
  const say = (text: string) => {
    const id = `item_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
    tell({ kind: "typed", id, text });
    send({
      type: "conversation.item.create",
      item: { id, type: "message", role: "user", content: [{ type: "input_text", text }] },
    });
    send({ type: "response.create" });
  };
  return { state, fault, conversation, start, stop, say };
}
