// Hands the microphone's samples to the page. A worklet: it runs beside the page and cannot import from it.
class Capture extends AudioWorkletProcessor {
  process(inputs) {
    const samples = inputs[0]?.[0];
    if (samples !== undefined) this.port.postMessage(samples.slice());
    return true;
  }
}
registerProcessor("voice-capture", Capture);
