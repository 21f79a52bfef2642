/** Sound as the realtime protocol carries it: 16-bit samples at 24 kHz, little-endian, in base64. */

export const WIRE_RATE = 24_000;

/** Samples of one rate at another, by straight lines between them: good enough for speech. */
export function resample(samples: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return samples;
  const made = new Float32Array(Math.floor((samples.length * to) / from));
  for (let at = 0; at < made.length; at += 1) {
    const place = (at * from) / to;
    const before = Math.floor(place);
    const first = samples[before] ?? 0;
    const second = samples[before + 1] ?? first;
    made[at] = first + (second - first) * (place - before);
  }
  return made;
}

export function toWire(samples: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(samples.length * 2));
  samples.forEach((sample, at) => {
    bytes.setInt16(at * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true);
  });
  let text = "";
  for (const byte of new Uint8Array(bytes.buffer)) text += String.fromCharCode(byte);
  return btoa(text);
}

export function fromWire(text: string): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const samples = new Float32Array(Math.floor(bytes.length / 2));
  for (let at = 0; at < samples.length; at += 1) samples[at] = view.getInt16(at * 2, true) / 32_768;
  return samples;
}
