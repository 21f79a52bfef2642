/** The microphone and the loudspeaker of a conversation. */
import { fromWire, resample, toWire, WIRE_RATE } from "./pcm";

/** Samples are sent in pieces of about a tenth of a second. */
const PIECE = WIRE_RATE / 10;

export class Microphone {
  private constructor(
    private readonly stream: MediaStream,
    private readonly context: AudioContext,
  ) {}

  static async open(send: (audio: string) => void): Promise<Microphone> {
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
    });
    const context = new AudioContext();
    await context.audioWorklet.addModule("/voice-capture.js");
    const capture = new AudioWorkletNode(context, "voice-capture");
    let waiting: number[] = [];
    capture.port.onmessage = (message: MessageEvent<Float32Array>) => {
      waiting.push(...resample(message.data, context.sampleRate, WIRE_RATE));
      if (waiting.length < PIECE) return;
      send(toWire(Float32Array.from(waiting)));
      waiting = [];
    };
    context.createMediaStreamSource(stream).connect(capture);
    return new Microphone(stream, context);
  }

  close(): void {
    for (const track of this.stream.getTracks()) track.stop();
    void this.context.close();
  }
}

export class Loudspeaker {
  private readonly context = new AudioContext();
  private readonly playing = new Set<AudioBufferSourceNode>();
  /** When the last piece ends, by the context's clock. */
  private until = 0;

  play(audio: string): void {
    const samples = fromWire(audio);
    if (samples.length === 0) return;
    const buffer = this.context.createBuffer(1, samples.length, WIRE_RATE);
    buffer.copyToChannel(samples, 0);
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    source.onended = () => this.playing.delete(source);
    this.until = Math.max(this.until, this.context.currentTime);
    source.start(this.until);
    this.until += buffer.duration;
    this.playing.add(source);
  }

  /** The reader has begun to speak: what is not heard yet is dropped. */
  hush(): void {
    for (const source of this.playing) source.stop();
    this.playing.clear();
    this.until = 0;
  }

  close(): void {
    this.hush();
    void this.context.close();
  }
}
