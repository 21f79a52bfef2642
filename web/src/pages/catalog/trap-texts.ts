/** Texts of the pitfalls of models. */
import { defineTexts } from "@/text";

export const trapTexts = defineTexts(
  {
    unserved: "No channel serves this model right now. Calls are rejected and not charged.",
    longAnswer: (tokens: string) =>
      `Without max_tokens, a non-streaming call reserves ${tokens} output tokens. Set max_tokens to reserve less.`,
    longContext: "Above the threshold the higher price applies to the whole call, not only to the excess.",
    clock: "The price depends on the time of day in the time zone shown.",
    sizeDefault: (size: string, quality: string) =>
      `Without size and quality, ${size} and ${quality} are used and charged.`,
    a: "Write sizes with an asterisk: 1280*720. Sizes with an x are rejected.",
    aSizes: "A size outside the table is generated and charged at the next larger tier.",
    aReference: "input_reference takes precedence over images: only one of them is used.",
    aClip: "Seconds of a reference clip are charged too. A clip that cannot be measured counts as 30 seconds.",
    aEdit: "A source clip that cannot be measured counts as 10 seconds.",
    b: "Audio is generated unless metadata.generate_audio is false.",
    bRatio: "The first frame sets the aspect ratio; a ratio sent with it is rejected.",
    bSeconds: "seconds takes precedence over duration if both are sent.",
    bClip: "Seconds of reference clips are charged too.",
    cStandard:
      "Send the first frame as image; input_reference is ignored and the video is generated from the text alone.",
    cSize: "An unknown size produces a square video. Set metadata.aspect_ratio instead.",
    cValue: "Audio is always included; the switch has no effect.",
    cMulti: "metadata.mode defaults to pro, which costs 1.33 times the listed price. Set std for the listed price.",
    cMultiRatio: "Without a first frame, metadata.aspect_ratio is required.",
    cMultiType: 'metadata.duration is a string: "5", not 5.',
    dNative: "With text alone, metadata.ratio is required.",
    dNativeImages: "Five images are free; each additional one is charged.",
    dLegacy:
      "Top-level media fields are dropped and the video is generated from the text. Use metadata.first_frame_image.",
    dLegacyLength: "1080P supports 6 seconds only.",
    e: "Write sizes with an asterisk: 1280*720. Only listed sizes are accepted.",
    eReference: "images is ignored. Send multiple references in metadata.input.media.",
    openaiVideo: 'seconds is a string: "8", not 8.',
    speech: "Every character is billed, including spaces.",
    transcription: "Billed by the actual duration, rounded up to whole seconds, at least one second.",
  },
  {
    unserved: "目前没有可用渠道。调用会被拒绝，不扣费。",
    longAnswer: (tokens) =>
      `未设置 max_tokens 时，非流式调用会预留 ${tokens} 个输出 token。设置 max_tokens 可减少预留。`,
    longContext: "输入超过阈值时，整次调用按较高价格计费，而不只是超出部分。",
    clock: "价格随所示时区的时间变化。",
    sizeDefault: (size, quality) => `未设置尺寸和画质时，使用 ${size} 和 ${quality} 并按其计费。`,
    a: "尺寸用星号书写：1280*720。用 x 会被拒绝。",
    aSizes: "表外的尺寸会按上一级分辨率生成并计价。",
    aReference: "input_reference 会取代 images：两者只用其一。",
    aClip: "参考视频的秒数计入价格。无法测量的按 30 秒计。",
    aEdit: "无法测量的源视频按 10 秒计。",
    b: "除非 metadata.generate_audio 为 false，否则会生成声音。",
    bRatio: "首帧决定画面比例；同时写比例会被拒绝。",
    bSeconds: "seconds 与 duration 同时出现时以 seconds 为准。",
    bClip: "参考视频的秒数计入价格。",
    cStandard: "首帧写在 image；input_reference 不会被读取，视频只按文字生成。",
    cSize: "未知尺寸会生成方形视频。请改用 metadata.aspect_ratio。",
    cValue: "始终包含声音；开关无效。",
    cMulti: "不写 metadata.mode 时为 pro，价格是标价的 1.33 倍。要按标价请设为 std。",
    cMultiRatio: "没有首帧时必须写 metadata.aspect_ratio。",
    cMultiType: 'metadata.duration 是字符串："5"，不是 5。',
    dNative: "只有文字时必须写 metadata.ratio。",
    dNativeImages: "五张图片免费，之后每张单独计价。",
    dLegacy: "请求顶层的媒体会被丢弃，视频只按文字生成。请用 metadata.first_frame_image。",
    dLegacyLength: "1080P 只支持 6 秒。",
    e: "尺寸用星号书写：1280*720。只接受列出的尺寸。",
    eReference: "images 会被忽略。多张参考图写在 metadata.input.media。",
    openaiVideo: 'seconds 是字符串："8"，不是 8。',
    speech: "文本的每个字符都计费，包括空格。",
    transcription: "按文件的实际时长计费，向上取整到秒，至少一秒。",
  },
);

export type TrapTexts = (typeof trapTexts)["zh"];
